# harm: a descriptor goes out over the bridge, and the host holds or opens it
# engines: native
# expect: completed failed
# never: sent
import array, ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
try:
    bridge = socket.socket(fileno=os.dup(3), family=socket.AF_UNIX, type=socket.SOCK_STREAM)
    bridge.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    print("sent")
except OSError:
    pass
try:
    socket.send_fds(socket.fromfd(3, socket.AF_UNIX, socket.SOCK_STREAM), [b"x"], [0])
    print("sent")
except OSError:
    pass
