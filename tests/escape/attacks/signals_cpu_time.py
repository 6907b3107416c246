# harm: code that handles SIGXCPU computes beyond its processor time
# engines: native
# expect: limit/cpu_time
# limit: cpu_seconds=0.3 wall_seconds=10
import signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True:
    pass
