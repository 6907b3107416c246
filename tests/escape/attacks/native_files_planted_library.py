# harm: a shared library of the attacker's own is loaded
# engines: native
# expect: completed
# never: loaded
import _ctypes, ctypes, importlib.machinery, importlib.util, os, shutil
for folder in ("/tmp", "/output", "/input", "."):
    path = os.path.join(folder, "planted.so")
    try:
        shutil.copyfile(_ctypes.__file__, path)
        os.chmod(path, 0o755)
    except OSError:
        continue
    for load in (lambda: ctypes.CDLL(path), lambda: ctypes.PyDLL(path), lambda: _ctypes.dlopen(path, 2),
                 lambda: importlib.util.module_from_spec(importlib.util.spec_from_file_location("_ctypes", path, loader=importlib.machinery.ExtensionFileLoader("_ctypes", path)))):
        try:
            load()
            print("loaded", path)
        except (OSError, ImportError):
            pass
