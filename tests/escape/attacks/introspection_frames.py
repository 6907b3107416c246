# harm: frames above the code lead out of the cell, or to what is the host's
# expect: completed
import sys
frame = sys._getframe()
frames = []
while frame is not None:
    frames.append(frame)
    frame = frame.f_back
for frame in frames:
    frame.f_globals.get("__builtins__")
    try:
        frame.f_trace = lambda *a: None
        frame.f_lineno = 1
    except (ValueError, AttributeError):
        pass
try:
    raise ValueError
except ValueError as error:
    trace = error.__traceback__
    trace.tb_next = None
# Above the code there is nothing, or the guest logic where that is Python itself: it is in the cell with the code.
above = "<frozen caisson.runner", "<string>"
assert all(frame.f_code.co_filename.startswith(above) for frame in frames[1:])
assert len(frames) == 1 or "caisson.runner" in sys.modules
len(frames)
