# harm: a namespace in which the code has every capability, and the kernel code that only those reach
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 11
import ctypes
calls = (("unshare user", 272, 0x10000000),
         ("unshare user and mount", 272, 0x10020000),
         ("unshare net", 272, 0x40000000),
         ("unshare nothing", 272, 0),
         ("setns", 308, 0, 0),
         ("setns 3", 308, 3, 0),
         ("clone user", 56, 0x10000011, 0, 0, 0, 0),
         ("clone pid", 56, 0x20000011, 0, 0, 0, 0),
         ("clone net", 56, 0x40000011, 0, 0, 0, 0),
         ("clone mount", 56, 0x00020011, 0, 0, 0, 0),
         ("clone thread in a user namespace", 56, 0x10010F00, 0, 0, 0, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
