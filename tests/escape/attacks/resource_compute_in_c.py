# harm: C code that never comes back to Python does not stop
# engines: native
# expect: limit/cpu_time
# limit: cpu_seconds=0.4 wall_seconds=10
import hashlib
hashlib.pbkdf2_hmac("sha512", b"x", b"y", 2_000_000_000)
