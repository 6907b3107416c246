# harm: another process, or this one, is traced, read or written from outside
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 9
import ctypes
calls = (("ptrace me", 101, 0, 0, 0, 0),
         ("ptrace attach", 101, 16, 1, 0, 0),
         ("ptrace seize", 101, 0x4206, 1, 0, 0),
         ("process_vm_readv", 310, 1, 0, 0, 0, 0, 0),
         ("process_vm_writev", 311, 1, 0, 0, 0, 0, 0),
         ("kcmp", 312, 1, 1, 0, 0, 0),
         ("pidfd_getfd", 438, 0, 0, 0),
         ("process_madvise", 440, 0, 0, 0, 0, 0),
         ("process_mrelease", 448, 0, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
