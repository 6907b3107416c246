# harm: the process ends in every way but the guest logic's, and something of it stays
# engines: native
# expect: completed failed
# repeat: 5
import ctypes, os, sys
ways = (lambda: os._exit(0), lambda: os._exit(255), lambda: ctypes.CDLL(None).exit(1), lambda: ctypes.CDLL(None).syscall(231, 7), lambda: ctypes.CDLL(None).quick_exit(9))
ways[SEED - 1]()
