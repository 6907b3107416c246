# harm: code that blocks and ignores every signal survives its limit
# engines: native
# expect: limit/wall_time
# limit: wall_seconds=0.3
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_SETMASK, range(1, 65))
while True:
    time.sleep(1000)
