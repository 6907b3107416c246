# harm: what a mount is made of (its tree, its layer, the host's own file) is reached beside it
# mounts: yes
# engines: native
# not landlock: the host's root is visible there, and mounts have no tree or layer of their own
# expect: completed
# never: reached
import os
before = set(os.listdir("/"))
assert "files" not in before, before
for path in ("/proc/self/fd", "/proc/1/root", "/proc/self/mountinfo", "/files/layer0", "/files/lower0", "/root",
             "/ro/../..", "/rw/../files", "/lower0", "/layer1/upper"):
    try:
        if "host.txt" in os.listdir(path):
            print("reached", path)
    except OSError:
        pass
# A directory that is open has a way up; it ends at the cell's own root.
at = os.open("/rw", os.O_RDONLY | os.O_DIRECTORY)
for _ in range(50):
    at = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
    assert len(os.listdir(at)) < 30
    os.close(os.dup(at))
    if set(os.listdir(at)) == before:
        break
else:
    print("reached somewhere")
for fd in range(3, 200):
    try:
        if "host.txt" in os.listdir(fd) and os.fstat(fd).st_ino != os.stat("/rw").st_ino:
            print("reached by descriptor", fd)
    except OSError:
        pass
