# harm: every way to end the process ends more than the run
# expect: failed
import os, sys, atexit
atexit.register(os._exit, 0)
try:
    sys.exit(1)
except SystemExit:
    pass
os._exit(255)
