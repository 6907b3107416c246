# harm: the functions below the tools, called directly with the wrong arguments, break the protocol
# expect: completed failed limit
# limit: wall_seconds=2
import _caisson
wrong = (None, -1, -2**31, 2**31 - 1, 2**31, 2**63, 2**200, 1.5, float("nan"), float("inf"), "x", b"x", (), [], {}, object(), lambda: 0,
         "\udcff", "x" * 100000, True)
for name in dir(_caisson):
    function = getattr(_caisson, name)
    if not callable(function) or name == "finish":
        continue
    for a in wrong:
        if name in ("sleep", "wait") and isinstance(a, (int, float)) and a > 0.1 or a is None and name == "wait":
            continue
        for args in ((a,), (a, a), (a, a, a), ("t", (a,), {"k": a}), ("t", (), a), (a, (), None)):
            try:
                function(*args)
            except (TypeError, ValueError, OverflowError, ToolError, UnicodeError):
                pass
_caisson.finish(-1)
_caisson.finish(2**31 - 1)
