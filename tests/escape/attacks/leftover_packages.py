# harm: packages imported or patched here are so in the next run; their chance is the same in every run
# engines: native
# expect: completed
try:
    import numpy
except ImportError:
    raise SystemExit
numpy.random.seed(1234)
numpy.mean = numpy.array = None
numpy.set_printoptions(precision=1)
numpy.seterr(all="ignore")
numpy.leftover = 1
