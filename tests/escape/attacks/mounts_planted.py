# harm: modules planted in a mount are imported, now or by the next run
# mounts: yes
# not foreign landlock: another Python has no files of its own there
# expect: completed
# never: planted
import os, sys
for at in filter(os.path.isdir, ("/rw", "/overlay", "/output", "/tmp")):
    for name in ("json.py", "statistics.py", "sitecustomize.py", "usercustomize.py", "x.pth", "colorsys.py"):
        with open(f"{at}/{name}", "w") as f:
            f.write("import sys; sys.stdout.write('planted')\n")
    os.chdir(at)
    sys.modules.pop("colorsys", None)
    import colorsys
    assert not colorsys.__file__.startswith(at), colorsys.__file__
