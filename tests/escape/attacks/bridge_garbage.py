# harm: random bytes confuse whoever reads the bridge
# engines: native
# expect: completed failed limit
# repeat: 30
# limit: wall_seconds=0.3
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
import random
r = random.Random(SEED)
for _ in range(20):
    send(r.randbytes(r.randrange(1, 5000)))
    send(frame(r.randrange(12), r.randbytes(r.randrange(200)), flags=r.randrange(4)))
tool()
