# harm: calls that nobody reads the answers of fill the host
# engines: native
# expect: failed limit
# limit: wall_seconds=3
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
payload = b"\x08\x03\x06\x04tool\x08\x01\x07\xa0\x9c\x01" + b"x" * 20_000 + b"\x0a\x00"
for seq in range(100_000):
    send(frame(3, struct.pack("<II", seq, 0) + payload))
