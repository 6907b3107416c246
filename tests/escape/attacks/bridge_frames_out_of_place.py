# harm: frames that no cell may send are believed: ready, output, file, saved, restored, refused
# engines: native
# expect: completed failed limit/wall_time
# repeat: 20
# limit: wall_seconds=0.3
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
kind = SEED
file = struct.pack("<IIQII", 11, 0, 5, 0, 0) + b"/etc/passwd" + b"hello"
send(frame(kind, file if kind == 5 else b"\0" * 64))
send(frame(kind, b""))
tool()
