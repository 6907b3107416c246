# harm: without its bridge a cell runs on where nobody hears it
# engines: native
# expect: failed limit/wall_time
# limit: wall_seconds=0.5
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
os.close(3)
while True:
    pass
