import base64
import binascii
import hashlib
import hmac
import secrets
import struct
import uuid
import zlib

data = "héllo".encode("utf-8")
print(hashlib.sha256(data).hexdigest()[:16], hashlib.md5(data).hexdigest(), hashlib.new("sha1", data).digest_size)
print(hmac.new(b"key", data, hashlib.sha256).hexdigest()[:8], base64.b64encode(data), base64.urlsafe_b64decode("aGk="))
print(binascii.hexlify(b"\x00\xff"), bytes.fromhex("00ff"), zlib.crc32(data), zlib.decompress(zlib.compress(data)) == data)
print(struct.pack(">IhB", 1, -2, 3), struct.unpack("<d", struct.pack("<d", 1.5)), struct.calcsize("!Qf"))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"), len(secrets.token_hex(8)), uuid.UUID(int=5).hex)
print(int.from_bytes(b"\x01\x00", "big"), (258).to_bytes(2, "little"), data.decode("ascii", errors="replace"))
