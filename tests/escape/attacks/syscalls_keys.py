# harm: the kernel's keyrings, which namespaces do not part, carry messages or hold memory
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 5
import ctypes
calls = (("add_key", 248, b"user", b"x", b"y", 1, -4),
         ("request_key", 249, b"user", b"x", None, -4),
         ("keyctl session", 250, 0, -3, 1),
         ("keyctl join", 250, 1, None),
         ("keyctl read", 250, 11, -4, 0, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
