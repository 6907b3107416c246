# harm: a module, .pth file or start-up hook planted here is executed in the next run
# engines: native
# expect: completed
import os, site, sys
source = "raise SystemExit('planted'); import builtins; builtins.planted = 1"
folders = {"/tmp", "/output", "/input", "/", os.getcwd(), os.path.expanduser("~"), *filter(None, sys.path), site.getusersitepackages() if hasattr(site, "getusersitepackages") else "/tmp"}
for folder in folders:
    for name in ("sitecustomize.py", "usercustomize.py", "evil.pth", "json.py", "os.py", "caisson.py", "__init__.py", "pyvenv.cfg", "python311._pth"):
        try:
            os.makedirs(folder, exist_ok=True)
            open(os.path.join(folder, name), "w").write(source)
        except OSError:
            pass
