# harm: a call that this kernel has and the filter does not know is let through
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 10
import ctypes
calls = (("number 467", 467, 0, 0, 0, 0, 0, 0),
         ("number 470", 470, 0, 0, 0, 0, 0, 0),
         ("number 511", 511, 0, 0, 0, 0, 0, 0),
         ("number 548", 548, 0, 0, 0, 0, 0, 0),
         ("number 600", 600, 0, 0, 0, 0, 0, 0),
         ("number 1000", 1000, 0, 0, 0, 0, 0, 0),
         ("number 2147483647", 2147483647, 0, 0, 0, 0, 0, 0),
         ("retired: _sysctl", 156, 0),
         ("retired: tuxcall", 184),
         ("retired: vserver", 236))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
