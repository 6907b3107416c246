# harm: a path leads to the host's files
# expect: completed
# never: reached seen
# never landlock: reached
import os, sys
up = "../" * 20
def listed(path):
    names = os.listdir(path)
    if any(os.path.samefile(path, own) for own in ("/tmp", "/input", "/output")):
        raise OSError("the cell's own")
    return names
for path in (CANARY_FILE, up + CANARY_FILE, "/tmp/" + up + CANARY_FILE.lstrip("/"), "/proc/self/root" + CANARY_FILE, "/proc/1/root" + CANARY_FILE,
             "/proc/self/cwd", "/proc/self/environ", "/proc/self/mem", "/dev/mem", "/dev/kmem", "/dev/shm/x", "/etc/shadow", "/root", "/home", "/var/lib",
             "/proc/self/fd/3", "/proc/self/fd/4", "/dev/fd/5", "/sys/kernel", "//" + CANARY_FILE, "/./" + CANARY_FILE, "/tmp/\x00" + CANARY_FILE,
             CANARY_FILE.encode(), "~root/.bashrc", "file://" + CANARY_FILE):
    for word, use in (("reached", lambda: open(path).read()), ("reached", lambda: open(path, "w")), ("reached", lambda: open(path, "ab")),
                      ("reached", lambda: os.open(path, os.O_RDWR)), ("reached", lambda: listed(path)), ("reached", lambda: os.unlink(path)),
                      ("reached", lambda: os.rename(path, "/tmp/x")), ("seen", lambda: os.stat(path)), ("seen", lambda: os.chdir(path))):
        try:
            print(word, path, use())
        except (OSError, ValueError):
            pass
