# harm: the interpreter's own memory, overwritten, is what the next cell is made of
# engines: native
# expect: completed failed/crashed
import builtins, ctypes, sys
builtins.leftover = "leftover"
for thing in (1, 2, (), "", b"", None, True):
    ctypes.c_long.from_address(id(thing)).value += 1000
dead = {"x": "SECRET-OF-MALLORY"}
ctypes.pythonapi.PyDict_SetItemString(ctypes.py_object(vars(int)["__dict__"] if "__dict__" in vars(int) else sys.__dict__), b"leftover", ctypes.py_object(1))
ctypes.memset(id(7) + 24, 9, 4)
7
