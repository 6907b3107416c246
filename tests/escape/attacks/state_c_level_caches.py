# harm: caches below Python (interned strings, small ints, re, struct, codecs, decimal, locale) carry a message over
# expect: completed failed
import codecs, copyreg, decimal, functools, gc, locale, re, struct, sys, warnings
for i in range(5000):
    sys.intern(f"leftover-{i}")
    re.compile(f"leftover{i}")
codecs.register(lambda name: None)
codecs.register_error("leftover", lambda e: ("", e.end))
copyreg.dispatch_table[int] = lambda x: None
decimal.getcontext().prec = 5
decimal.DefaultContext.prec = 5
decimal.setcontext(decimal.Context(prec=3))
warnings.simplefilter("ignore")
warnings.filters.insert(0, ("leftover", None, Warning, None, 0))
sys.setrecursionlimit(200)
sys.setswitchinterval(1)
sys.set_int_max_str_digits(0)
gc.disable()
gc.set_threshold(1)
sys.flags
try:
    locale.setlocale(locale.LC_ALL, "C")
except Exception:
    pass
type.mro(int)
import abc, numbers, collections.abc
collections.abc.Sized.register(int)
numbers.Number.register(str)
