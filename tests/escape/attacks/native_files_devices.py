# harm: a device node, a FIFO or a socket in /output is opened by the host, which then hangs
# engines: native
# not foreign landlock: another Python has no files of its own there
# expect: completed
# limit: wall_seconds=5
# never: made
import ctypes, os, socket, stat
libc = ctypes.CDLL(None, use_errno=True)
for folder in ("/tmp", "/output", "/dev"):
    for kind, device in ((stat.S_IFBLK, 0x801), (stat.S_IFCHR, 0x101), (stat.S_IFCHR, 0x105), (stat.S_IFIFO, 0), (stat.S_IFSOCK, 0)):
        try:
            os.mknod(folder + "/node", kind | 0o666, device)
            if kind in (stat.S_IFBLK, stat.S_IFCHR):
                print("made", kind, device)
        except OSError:
            pass
        try:
            os.unlink(folder + "/node")
            os.mkfifo(folder + f"/fifo{kind}")
        except OSError:
            pass
open("/output/plain", "w").write("x")
