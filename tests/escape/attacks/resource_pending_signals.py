# harm: signals that nobody takes use up the number of them that the kernel grants the user of all cells
# engines: native
# expect: completed
# never: many
import os, signal
mine = {signal.SIGRTMIN}
signal.pthread_sigmask(signal.SIG_BLOCK, mine)
try:
    for _ in range(1000):
        os.kill(os.getpid(), signal.SIGRTMIN)
except OSError:
    pass
pending = 0
while signal.sigtimedwait(mine, 0):
    pending += 1
if pending > 65:
    print("many", pending)
