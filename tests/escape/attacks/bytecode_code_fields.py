# harm: code objects with impossible sizes (stack, locals, flags, exception table) overrun the frame
# expect: completed failed limit
# repeat: 12
import types
def f(a, b=2, *c, d=4, **e):
    try:
        return [a, b, c, d, e]
    finally:
        a = None
c = f.__code__
changes = ({"co_stacksize": 0}, {"co_stacksize": 1 << 20}, {"co_flags": 0xFFFF}, {"co_argcount": 0}, {"co_stacksize": 2**31 - 1},
           {"co_exceptiontable": b"\xff" * 40}, {"co_linetable": b"\xff" * 40}, {"co_flags": c.co_flags | 0x20},
           {"co_flags": c.co_flags | 0x80}, {"co_kwonlyargcount": 0}, {"co_consts": ()}, {"co_names": ()})
change = changes[SEED - 1]
g = types.FunctionType(c.replace(**change), {}, argdefs=(1,) * 5)
g.__kwdefaults__ = {"d": 4}
print(change.keys(), g(1), g(1, 2, 3, d=5, z=6))
g(None)()
