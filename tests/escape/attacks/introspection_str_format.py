# harm: str.format walks attributes to the globals of a function of the guest logic
# expect: completed
class A:
    def __init__(self): pass
out = "{0.__init__.__globals__}".format(A())
import caisson.loop as loop
out += "{0.run.__globals__}{0.run.__code__}".format(loop)
len(out)
