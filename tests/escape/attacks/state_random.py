# harm: the state of chance is set so that the next run's numbers are known
# expect: completed
import os, random, secrets, uuid
random.seed(1234)
random.setstate(random.getstate())
random._inst.seed(1234)
random.SystemRandom.random = lambda self: 0.5
os.urandom = lambda n: b"\0" * n
random.random()
