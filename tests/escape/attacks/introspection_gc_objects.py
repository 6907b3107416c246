# harm: the garbage collector's list shows another run's objects (SECRET ran just before on this worker)
# expect: completed limit
import gc
gc.unfreeze()
for thing in gc.get_objects():
    try:
        for inner in gc.get_referents(thing):
            if type(inner) is str and inner.startswith("SECRET-OF-"):
                print(inner)
    except Exception:
        pass
