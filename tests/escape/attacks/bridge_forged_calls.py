# harm: calls with numbers out of order, twice, or of another run are answered
# engines: native
# expect: failed limit
# repeat: 5
# limit: wall_seconds=0.5
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
call = b"\x08\x03\x06\x04tool\x08\x00\x0a\x00"
for seq in ((0, 0), (1,), (5, 4, 3), (2**32 - 1,), (0, 2))[SEED - 1]:
    send(frame(3, struct.pack("<II", seq, 0) + call))
tool()
