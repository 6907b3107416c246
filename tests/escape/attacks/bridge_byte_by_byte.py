# harm: frames that arrive one byte at a time hold up the lane
# engines: native
# expect: limit/wall_time failed
# limit: wall_seconds=0.5
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
call = frame(3, struct.pack("<II", 0, 0) + b"\x08\x03\x06\x04tool\x08\x00\x0a\x00")
for byte in call:
    os.write(3, bytes([byte]))
answer = os.read(3, 4096)
assert answer
os.write(3, b"\x10")
while True:
    pass
