# harm: the kernel is made to send signals for a descriptor: F_SETOWN, F_SETSIG, leases, directory notices
# engines: native
# expect: completed
# never: set
import fcntl, os
F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY = 15, 10, 1024, 1026
for fd in (0, 1, 3):
    for command, argument in ((fcntl.F_SETOWN, 1), (F_SETOWN_EX, b"\0" * 8), (F_SETSIG, 9), (F_SETLEASE, 1), (F_NOTIFY, 0xFF)):
        try:
            fcntl.fcntl(fd, command, argument)
            print("set", fd, command)
        except OSError:
            pass
