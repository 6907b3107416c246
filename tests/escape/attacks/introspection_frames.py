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
    assert trace.tb_frame.f_back is None or "caisson" not in trace.tb_frame.f_back.f_code.co_filename
len(frames)
