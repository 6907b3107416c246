# harm: the shared library image is changed for the next run
# expect: completed
# never: changed
import json, os, sys
library = os.path.dirname(json.__file__)
for path in (json.__file__, library + "/evil.py", json.__file__ + "c", sys.path[0] + "/sitecustomize.py"):
    for use in (lambda: open(path, "w").write("raise SystemExit"), lambda: os.unlink(path), lambda: os.rename(path, path + "x"),
                lambda: os.truncate(path, 0), lambda: os.mkdir(path + ".d"), lambda: os.utime(path)):
        try:
            use()
            print("changed", path)
        except (OSError, AttributeError, NotImplementedError):
            pass
