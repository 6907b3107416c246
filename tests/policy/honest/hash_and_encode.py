import base64
import hashlib
import hmac
import secrets
import struct
import zlib

message = "héllo wörld".encode()
digest = hashlib.sha256(message).hexdigest()
signature = hmac.new(b"key", message, hashlib.sha256).digest()
packed = struct.pack(">IH", 7, 513)
compressed = zlib.compress(message * 100, level=9)
token = secrets.token_urlsafe(8)
print(base64.b64encode(signature).decode(), packed.hex(), len(compressed), len(token) > 8)
assert zlib.decompress(compressed) == message * 100
assert hmac.compare_digest(signature, hmac.new(b"key", message, "sha256").digest())
digest[:16]
