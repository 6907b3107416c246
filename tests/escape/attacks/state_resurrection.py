# harm: objects that refuse to die live on into the next run
# expect: completed failed limit
import builtins, gc
alive = []
class Lazarus:
    def __del__(self):
        alive.append(self)
        builtins.lazarus = self
        Lazarus()
        self.cycle = [self, alive]
for _ in range(100):
    x = Lazarus()
    x.me = x
    del x
gc.collect()
gc.freeze()
raise RuntimeError(Lazarus())
