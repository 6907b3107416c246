# harm: a message of which another part always follows grows in the host for ever
# engines: native
# expect: failed limit/wall_time
# repeat: 2
# limit: wall_seconds=2
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
part = b"x" * 60_000
while True:
    send(frame((3, 4)[SEED % 2], part, flags=1))
