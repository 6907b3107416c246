# harm: a path leads to the host's files
# engines: wasm native
# expect: completed
# never: reached
import os, sys
up = "../" * 20
for path in (CANARY_FILE, up + CANARY_FILE, "/tmp/" + up + CANARY_FILE.lstrip("/"), "/proc/self/root" + CANARY_FILE, "/proc/1/root" + CANARY_FILE,
             "/proc/self/cwd", "/proc/self/environ", "/proc/self/mem", "/dev/mem", "/dev/kmem", "/dev/shm/x", "/etc/shadow", "/root", "/home", "/var/lib",
             "/proc/self/fd/3", "/proc/self/fd/4", "/dev/fd/5", "/sys/kernel", "//" + CANARY_FILE, "/./" + CANARY_FILE, "/tmp/\x00" + CANARY_FILE,
             CANARY_FILE.encode(), "~root/.bashrc", "file://" + CANARY_FILE):
    for use in (lambda: open(path).read(), lambda: open(path, "w"), lambda: open(path, "ab"), lambda: os.listdir(path), lambda: os.stat(path),
                lambda: os.open(path, os.O_RDWR), lambda: os.unlink(path), lambda: os.rename(path, "/tmp/x"), lambda: os.chdir(path)):
        try:
            print("reached", path, use())
        except (OSError, ValueError):
            pass
