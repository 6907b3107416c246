# harm: an exception whose every method is hostile breaks, hangs or forges the report
# expect: failed limit
# limit: wall_seconds=2
import sys
class Meta(type):
    def __getattribute__(cls, name):
        if name in ("__name__", "__qualname__", "__module__"):
            return Evil if name == "__module__" else 5
        return super().__getattribute__(name)
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
class Evil(Exception, metaclass=Meta):
    def __str__(self): raise Evil("again")
    def __repr__(self): return "x" * (100 << 20)
    def __getattribute__(self, name): raise Evil(name)
    def __hash__(self): raise Evil
    def __eq__(self, other): raise Evil
    def __bool__(self): raise Evil
try:
    raise Evil("one")
except BaseException:
    error = Evil("two")
    BaseException.__setattr__(error, "__notes__", 5)
    raise error
