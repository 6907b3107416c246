# harm: patched builtins, modules and types are seen by the next run
# expect: completed failed
import builtins, collections, datetime, decimal, gc, json, locale, math, os, random, re, sys, time, warnings
builtins.open = builtins.print = builtins.len = lambda *a, **k: "patched"
builtins.leftover = "leftover"
for module in (json, math, os, random, re, time, datetime):
    for name in list(vars(module)):
        if not name.startswith("__"):
            try:
                setattr(module, name, None)
            except Exception:
                pass
sys.modules["json"] = None
sys.modules["leftover"] = builtins
sys.path.append("/tmp")
sys.meta_path.clear()
sys.argv.append("leftover")
os.environ["LEFTOVER"] = "1" if isinstance(os.environ, dict) else "1"
