# harm: timers that fire without end keep the interpreter from ending, or fire in the next run
# engines: native
# expect: completed failed limit
# limit: wall_seconds=1
import signal
count = 0
def tick(*_):
    global count
    count += 1
for timer, number in ((signal.ITIMER_REAL, signal.SIGALRM), (signal.ITIMER_VIRTUAL, signal.SIGVTALRM), (signal.ITIMER_PROF, signal.SIGPROF)):
    signal.signal(number, tick)
    signal.setitimer(timer, 0.00001, 0.00001)
while count < 1000:
    pass
