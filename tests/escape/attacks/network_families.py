# harm: a socket of any family
# engines: native
# expect: completed
# never: socket
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
SOCKET, SOCKETPAIR = 41, 53
pair = (ctypes.c_int * 2)()
for family in range(0, 50):
    for kind in (1, 2, 3, 4, 5, 6, 10):
        for protocol in (0, 1, 6, 17, 58, 255, 768):
            if libc.syscall(SOCKET, family, kind, protocol) != -1:
                print("a socket", family, kind, protocol)
        if libc.syscall(SOCKETPAIR, family, kind, 0, pair) != -1:
            print("a socketpair", family, kind)
