# harm: threads without end
# engines: native
# not foreign landlock: another Python has no threads there
# expect: completed
# limit: wall_seconds=5
import threading
stop = threading.Event()
made = []
try:
    while len(made) < 1000:
        made.append(threading.Thread(target=stop.wait))
        made[-1].start()
except (RuntimeError, MemoryError):
    made.pop()
stop.set()
for thread in made:
    thread.join()
assert 8 <= len(made) <= 15, len(made)  # 16 tasks: docs/engines.md. One of them started the others.
