# harm: a forged report ends the run with limits, calls or files that it did not have
# engines: native
# expect: completed failed limit cancelled
# repeat: 30
# limit: wall_seconds=0.5 memory_bytes=67108864
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
report = b"\x0a\x01\x06\x03end\x06\x08returned"
flags = (0, 1, 2, 4, 8, 0xFFFFFFFF)[SEED % 6]
ending = (0, 1, 2, 3, 4, 5, 6, 7, 8, 0xFFFFFFFF)[SEED % 10]
done = struct.pack("<IIQQQQII", ending, SEED, 2**64 - 1, 2**63, 2**64 - 1, 2**63, flags, 2**32 - 1)
send(frame(4, done + report))
send(frame(4, done + report))
while True:
    pass
