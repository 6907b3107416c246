# harm: answers are taken before the guest logic sees them
# engines: native
# expect: completed failed limit
# limit: wall_seconds=0.5
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
import threading
def steal():
    while True:
        try:
            os.read(3, 4096)
        except OSError:
            pass
threading.Thread(target=steal, daemon=True).start()
for _ in range(100):
    tool(b"x")
