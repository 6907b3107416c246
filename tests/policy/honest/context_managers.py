from contextlib import ExitStack, contextmanager, suppress
import io
import time


class Timer:
    def __enter__(self):
        self.start = time.monotonic()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.elapsed = time.monotonic() - self.start
        return False


@contextmanager
def tag(out, name):
    out.write(f"<{name}>")
    try:
        yield out
    finally:
        out.write(f"</{name}>")


buffer = io.StringIO()
with Timer() as timer, ExitStack() as stack:
    for name in ("a", "b"):
        stack.enter_context(tag(buffer, name))
    buffer.write("text")
with suppress(KeyError, ZeroDivisionError):
    {}["missing"]
print(buffer.getvalue(), timer.elapsed >= 0)
