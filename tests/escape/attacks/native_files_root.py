# harm: there is more in the root than was put there, or it can be written
# engines: native
# not landlock: the host's root is visible there, and Landlock decides what of it can be used
# expect: completed
# never: unexpected
import os
known = {"bin", "dev", "etc", "input", "lib", "lib32", "lib64", "libx32", "output", "tmp", "usr", "files"}
for name in os.listdir("/"):
    if name.lstrip(".") not in known:
        print("unexpected", name)
for name in os.listdir("/dev"):
    if name not in {"null", "zero", "full", "random", "urandom"}:
        print("unexpected /dev", name)
for folder in ("/", "/dev", "/etc", "/usr", "/usr/lib", "/lib64", "/usr/lib/python3.11", "/usr/lib/python3/dist-packages"):
    try:
        open(folder + "/new", "w")
        print("unexpected: wrote to", folder)
    except OSError:
        pass
