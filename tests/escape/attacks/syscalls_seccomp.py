# harm: a filter of the code's own, with a listener, answers for system calls
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 7
import ctypes
calls = (("seccomp strict", 317, 0, 0, 0),
         ("seccomp filter", 317, 1, 0, 0),
         ("seccomp listener", 317, 1, 8, 0),
         ("seccomp notif sizes", 317, 3, 0, b"\0" * 8),
         ("landlock_create_ruleset", 444, 0, 0, 1),
         ("landlock_restrict_self", 446, 0, 0),
         ("memfd_secret", 447, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
