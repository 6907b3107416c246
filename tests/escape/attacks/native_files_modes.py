# harm: files that their own owner may not read stop the capture; set-user-id bits come out with them
# engines: native
# expect: completed
import os
for mode in (0, 0o111, 0o4755, 0o6777, 0o1777):
    path = f"/output/mode{mode:o}"
    open(path, "w").write("x")
    os.chmod(path, mode)
os.mkdir("/output/closed")
open("/output/closed/inside", "w").write("x")
os.chmod("/output/closed", 0)
os.chmod("/output", 0)
