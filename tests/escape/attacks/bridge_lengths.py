# harm: a length beyond what is sent makes the host allocate, wait or read past the end
# engines: native
# expect: failed limit
# repeat: 6
# limit: wall_seconds=0.3
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
length = (0xFFFFFFFF, 0x7FFFFFFF, 1 << 16, (1 << 16) + 1, 1 << 24, 0)[SEED - 1]
send(frame(3, b"x" * 100, length=length))
if SEED % 2:
    send(b"y" * (1 << 20))
tool()
