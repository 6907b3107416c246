# harm: another file in the place of the bridge takes what was meant for the host
# engines: native
# expect: completed failed limit/wall_time
# limit: wall_seconds=0.5
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
fd = os.open("/dev/null", os.O_RDWR)
os.dup2(fd, 3)
tool(b"into nothing")
