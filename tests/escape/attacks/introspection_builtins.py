# harm: builtins swapped for the host's own use, so that its report calls the attacker
# expect: completed failed
import builtins, sys
calls = []
for name in dir(builtins):
    if name.startswith("__") or name in ("print", "setattr", "getattr", "BaseException", "Exception"):
        continue
    try:
        setattr(builtins, name, lambda *a, **k: calls.append(name) or open(CANARY_FILE))
    except Exception:
        pass
__builtins__.clear() if hasattr(__builtins__, "clear") else vars(builtins).clear()
1 / 0
