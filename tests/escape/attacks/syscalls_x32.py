# harm: the x32 ABI reaches the same kernel under other numbers
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 9
import ctypes
calls = (("x32 read", 0x40000000 + 0, 0, 0, 0, 0, 0),
         ("x32 write", 0x40000000 + 1, 0, 0, 0, 0, 0),
         ("x32 open", 0x40000000 + 2, 0, 0, 0, 0, 0),
         ("x32 getpid", 0x40000000 + 39, 0, 0, 0, 0, 0),
         ("x32 socket", 0x40000000 + 41, 0, 0, 0, 0, 0),
         ("x32 fork", 0x40000000 + 57, 0, 0, 0, 0, 0),
         ("x32 execve", 0x40000000 + 520, 0, 0, 0, 0, 0),
         ("x32 ptrace", 0x40000000 + 521, 0, 0, 0, 0, 0),
         ("x32 mount", 0x40000000 + 165, 0, 0, 0, 0, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
