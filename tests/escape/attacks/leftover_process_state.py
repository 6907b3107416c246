# harm: environment, working directory, locale, mask, limits and time zone are the next run's too
# engines: native
# expect: completed
import ctypes, locale, os, resource, signal, time
libc = ctypes.CDLL(None)
os.environ["LEFTOVER"] = "1"
libc.setenv(b"LEFTOVER", b"1", 1)
os.environ["TZ"] = "Asia/Tokyo"
time.tzset()
os.chdir("/tmp")
os.umask(0o777)
locale.setlocale(locale.LC_ALL, "C")
for number in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    resource.setrlimit(number, (8, resource.getrlimit(number)[1]))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
libc.prctl(15, b"leftover", 0, 0, 0)
"left"
