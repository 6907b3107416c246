# harm: values nested too deep, too long, with keys twice, in no encoding
# engines: native
# expect: failed limit
# repeat: 9
# limit: wall_seconds=0.3
import os, struct
def frame(kind, payload, flags=0, length=None):
    return struct.pack("<IHH", len(payload) if length is None else length, kind, flags) + payload
def send(data):
    while data:
        data = data[os.write(3, data):]
deep = b"\x08\x01" * 5000 + b"\x00"
bad = (deep, b"\x08\xff\xff\xff\xff\x7f", b"\x06\x02\xff\xfe", b"\x0a\x02\x06\x01a\x00\x06\x01a\x00", b"\x0b", b"", b"\x04\x00", b"\x03" + b"\xff" * 20, b"\x07\xff\xff\xff\xff\x0f")[SEED - 1]
send(frame(3, struct.pack("<II", 0, 0) + b"\x08\x03\x06\x04tool\x08\x01" + bad + b"\x0a\x00"))
tool()
