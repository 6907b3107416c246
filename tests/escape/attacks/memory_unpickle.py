# harm: a pickle calls what it likes, and corrupt ones confuse the C unpickler
# expect: completed failed limit
import pickle, random
class Run:
    def __reduce__(self):
        return eval, (f"__import__('os').system('touch {CANARY_DIR}/pickled')",)
try:
    pickle.loads(pickle.dumps(Run()))
except OSError:
    pass
r = random.Random(5)
good = pickle.dumps([{"a": (1, 2.5, "x")}, {1, 2}, bytearray(b"xyz")], 5)
for _ in range(5000):
    bad = bytearray(good)
    for _ in range(3):
        bad[r.randrange(len(bad))] = r.randrange(256)
    try:
        pickle.loads(bytes(bad))
    except Exception:
        pass
