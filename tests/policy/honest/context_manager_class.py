import contextlib
import time
from contextlib import contextmanager, suppress


class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, exc_type, exc, tb):
        self.elapsed = time.perf_counter() - self.start
        return exc_type is KeyError


@contextmanager
def tag(name):
    print(f"<{name}>")
    try:
        yield name.upper()
    finally:
        print(f"</{name}>")


with Timer() as timer, tag("p") as name:
    print("inside", name)
print(timer.elapsed >= 0)
with Timer():
    raise KeyError("swallowed")
with suppress(ZeroDivisionError):
    1 / 0
with contextlib.ExitStack() as stack:
    for n in range(2):
        stack.enter_context(tag(f"t{n}"))
    stack.callback(print, "callback")
with contextlib.redirect_stdout(None), contextlib.nullcontext(5) as five:
    print("not shown", five)
