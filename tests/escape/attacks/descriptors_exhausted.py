# harm: descriptors without end
# engines: native
# expect: completed failed
import os
held = []
try:
    while True:
        held += os.pipe()
except OSError:
    pass
assert len(held) < 100, len(held)
for fd in held:
    try:
        os.set_blocking(fd, False)
        os.write(fd, b"x" * (1 << 20))
    except OSError:
        pass
for fd in held:
    os.close(fd)
