# harm: LOAD_FAST beyond the frame hands out raw memory as objects
# expect: completed failed limit
import opcode, types
def f(): return 1
for op in ("LOAD_FAST", "LOAD_CONST", "LOAD_DEREF", "LOAD_CLOSURE", "COPY", "SWAP", "DELETE_FAST", "STORE_FAST"):
    code = bytes([opcode.opmap["RESUME"], 0, opcode.opmap["EXTENDED_ARG"], 0x10, opcode.opmap[op], 0x80,
                  opcode.opmap["RETURN_VALUE"], 0])
    print(op, types.FunctionType(f.__code__.replace(co_code=code, co_stacksize=1), {})())
