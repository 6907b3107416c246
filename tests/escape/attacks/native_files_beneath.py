# harm: a directory descriptor and ".." lead out of the private files
# engines: native
# not foreign landlock: another Python has no files of its own there
# expect: completed
# never: reached
import os
for folder in ("/output", "/tmp", "/input", "/dev"):
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        continue
    os.makedirs("/tmp/deep/er", exist_ok=True)
    for path in ("../" * 30 + CANARY_FILE.lstrip("/"), "../../etc/shadow", "../" * 30 + "proc/1/environ"):
        try:
            print("reached", os.open(path, os.O_RDONLY, dir_fd=fd))
        except OSError:
            pass
    # Moved out from under a process that stands in it, ".." means another place.
    inside = os.open("/tmp/deep/er", os.O_RDONLY)
    try:
        os.rename("/tmp/deep/er", f"/output/er{fd}")
        os.fchdir(inside)
        print("reached", open("../" * 30 + CANARY_FILE.lstrip("/")).read())
    except OSError:
        pass
    os.chdir("/")
