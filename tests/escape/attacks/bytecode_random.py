# harm: corrupt bytecode leaves the cell's memory or takes the worker along
# expect: completed failed limit
# limit: wall_seconds=2
# repeat: 40
import random, types
def template(a, b=1, *c, **d):
    x = [a, b]
    for i in c:
        x.append(i)
    try:
        return {k: [*v, a] for k, v in d.items()} or x
    finally:
        del a
r = random.Random(SEED)
for attempt in range(200):
    code = bytearray(template.__code__.co_code)
    for _ in range(r.randrange(1, 12)):
        code[r.randrange(len(code))] = r.randrange(256)
    try:
        f = types.FunctionType(template.__code__.replace(co_code=bytes(code)), {}, argdefs=(1,))
        f(1, 2, 3, k="v")
    except Exception:
        pass
