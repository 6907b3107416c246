# harm: the guest logic's own functions, replaced, make a false report or break the next run
# expect: completed failed
import caisson, caisson.loop, caisson.report, caisson.prepare, sys, traceback, linecache
for module in (caisson.loop, caisson.report, caisson.prepare, traceback, linecache):
    for name, value in list(vars(module).items()):
        if callable(value) and not name.startswith("__"):
            try:
                value.__code__ = (lambda *a, **k: {"end": "returned", "result": "forged"}).__code__
            except Exception:
                setattr(module, name, lambda *a, **k: None)
caisson.ToolError.__str__ = lambda self: 1
raise caisson.ToolError("x", "y")
