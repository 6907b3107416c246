# harm: threads that compute in C use more processor time than the run may
# engines: native
# not foreign landlock: another Python has no threads there
# expect: limit/cpu_time
# limit: cpu_seconds=0.4 wall_seconds=10
import hashlib, threading
threads = [threading.Thread(target=hashlib.pbkdf2_hmac, args=("sha512", b"x", b"y", 2_000_000_000)) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
