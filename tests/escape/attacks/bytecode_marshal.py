# harm: marshal, which trusts its input, is fed rubbish until something outside breaks
# expect: completed failed limit
# repeat: 5
import marshal, random
r = random.Random(SEED)
good = marshal.dumps(compile("x = [i for i in range(9)]\ndef f(): return x", "m", "exec"))
for attempt in range(5000):
    bad = bytearray(good)
    for _ in range(r.randrange(1, 6)):
        bad[r.randrange(len(bad))] = r.randrange(256)
    try:
        code = marshal.loads(bytes(bad))
        if attempt % 20 == 0:
            exec(code, {})
    except Exception:
        pass
