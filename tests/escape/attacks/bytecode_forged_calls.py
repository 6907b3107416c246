# harm: the interpreter, overwritten at random, calls the host's functions with rubbish
# expect: completed failed limit
# limit: wall_seconds=2
# repeat: 40
# engines: wasm
import opcode, os, random, struct, types, _caisson
fake = struct.pack("<7I", 1 << 20, id(bytearray), 0x7FFFFFFF, 0x7FFFFFFF, 0, 0, 0)
pointer = struct.pack("<I", id(fake) + 16)
def f(): return 1
n = ((id(pointer) + 16 - id(f.__code__.co_consts) - 12) // 4) & 0xFFFFFFFF
code = bytes([151, 0, 144, n >> 24, 144, n >> 16 & 255, 144, n >> 8 & 255, opcode.opmap["LOAD_CONST"], n & 255, 83, 0])
window = types.FunctionType(f.__code__.replace(co_code=code), {})()
r = random.Random(SEED)
for attempt in range(2000):
    for _ in range(20):
        window[r.randrange(14 << 20)] = r.randrange(256)
    try:
        os.write(1, b"x"); os.listdir("/tmp"); open(f"/tmp/{attempt}", "w").write("y"); os.stat("/tmp"); os.urandom(8)
        _caisson.post("tool", (attempt,), None); _caisson.wait(0)
    except Exception:
        pass
