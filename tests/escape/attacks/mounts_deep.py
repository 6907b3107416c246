# harm: a tree deeper than any path breaks the capture, or is applied in part
# mounts: yes
# not foreign landlock: another Python has no files of its own there
# expect: completed failed/files failed/raised
import os
for at in ("/rw", "/overlay"):
    os.chdir(at)
    for _ in range(1500):
        try:
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        except OSError:
            break
    try:
        open("bottom", "w").write("x")
    except OSError:
        pass
os.chdir("/")
