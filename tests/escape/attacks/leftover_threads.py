# harm: threads outlive their run
# engines: native
# not foreign landlock: another Python has no threads there
# expect: completed
import _thread, threading
def stay():
    while True:
        pass
for _ in range(3):
    threading.Thread(target=stay, daemon=True).start()
    _thread.start_new_thread(stay, ())
"done"
