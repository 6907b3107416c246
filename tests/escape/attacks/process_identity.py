# harm: another user, a group, a capability or a security bit is had
# engines: native
# expect: completed
# never: had
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
CAPSET, PRCTL = 126, 157
for call, argument in ((os.setuid, 0), (os.setgid, 0), (os.seteuid, 0), (os.setegid, 0), (os.setgroups, [0])):
    try:
        call(argument)
        print("had", call.__name__)
    except OSError:
        pass
for ids in ((0, 0, 0), (1, 1, 1)):
    for call in (os.setresuid, os.setresgid):
        try:
            call(*ids)
            print("had", call.__name__)
        except OSError:
            pass
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
everything = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
if libc.syscall(CAPSET, header, everything) == 0:
    print("had capset")
# Keep capabilities, ambient ones, security bits, dumping, a subreaper, a tracer, a speculation setting.
for option, *arguments in ((8, 1), (47, 2, 21), (28, 0), (4, 1), (36, 1), (0x59616D61, -1), (53, 0, 2), (35, 1, 0), (38, 0), (22, 1)):
    if libc.prctl(option, *(list(arguments) + [0] * 4)[:4]) == 0:
        print("had prctl", option)
