# harm: files that their own owner may not read stop the capture; set-user-id bits come out with them
# engines: native
# not foreign landlock: another Python has no files of its own there
# expect: completed
import os
os.umask(0)
def close(path, mode):
    try:
        os.chmod(path, mode)
    except OSError:  # Refused in tier landlock.
        pass
for mode in (0, 0o111, 0o4755, 0o6777, 0o1777):
    path = f"/output/mode{mode:o}"
    open(path, "w").write("x")
    close(path, mode)
    os.close(os.open(f"/output/made{mode:o}", os.O_CREAT | os.O_WRONLY, mode))
    os.mkdir(f"/output/directory{mode:o}", mode)
os.mkdir("/output/closed", 0o300)
open("/output/closed/inside", "w").write("x")
close("/output/closed", 0)
close("/output", 0)
