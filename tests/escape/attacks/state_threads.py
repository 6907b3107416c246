# harm: a thread outlives its run
# expect: completed failed
# never: started
# engines: wasm
import _thread, threading, concurrent.futures
def stay():
    while True:
        pass
for start in (lambda: threading.Thread(target=stay, daemon=True).start(), lambda: _thread.start_new_thread(stay, ()),
              lambda: threading.Timer(0.001, stay).start(), lambda: concurrent.futures.ThreadPoolExecutor().submit(stay),
              lambda: concurrent.futures.ProcessPoolExecutor().submit(stay)):
    try:
        start()
        print("started")
    except (RuntimeError, OSError, ImportError):
        pass
