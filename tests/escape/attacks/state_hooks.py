# harm: hooks that fire later run in the next run
# expect: completed failed limit
# limit: wall_seconds=2
import asyncio, atexit, builtins, gc, signal, sys, threading, weakref
busy = []
def hook(*args, **kwargs):
    if busy:
        return hook
    busy.append(1)
    try:
        print("HOOK", file=sys.__stdout__)
        open("/tmp/hook", "w").write("x")
    except Exception:
        pass
    busy.clear()
    return hook
atexit.register(hook)
gc.callbacks.append(hook)
sys.setprofile(hook)
sys.settrace(hook)
sys.excepthook = sys.displayhook = sys.unraisablehook = sys.breakpointhook = hook
threading.setprofile(hook)
threading.settrace(hook)
sys.addaudithook(hook)
sys.set_asyncgen_hooks(hook, hook)
sys.set_coroutine_origin_tracking_depth(10)
builtins.__import__ = builtins.__build_class__ = hook
class W: pass
w = W()
weakref.finalize(w, hook)
w.ref = weakref.ref(w, hook)
asyncio.set_event_loop_policy(None)
