# harm: a cell that reads nothing keeps the host from writing, or makes it keep everything
# engines: native
# expect: limit
# limit: wall_seconds=0.5
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
import _caisson
try:
    for i in range(1000):
        _caisson.post("tool", (b"x" * 100,), None)
except Exception:
    pass
while True:
    pass
