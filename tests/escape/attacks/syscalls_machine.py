# harm: the machine itself is changed: modules, kexec, reboot, ports, clocks, accounting
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 14
import ctypes
calls = (("kexec_load", 246, 0, 0, 0, 0),
         ("kexec_file_load", 320, -1, -1, 0, 0, 0),
         ("init_module", 175, 0, 0, b""),
         ("finit_module", 313, 0, b"", 0),
         ("delete_module", 176, b"x", 0),
         ("reboot", 169, 0xFEE1DEAD, 672274793, 0, 0),
         ("iopl", 172, 3),
         ("ioperm", 173, 0, 1, 1),
         ("acct", 163, b"/tmp/x"),
         ("syslog", 103, 2, 0, 0),
         ("vhangup", 153),
         ("uselib", 134, b"/tmp/x"),
         ("swapoff", 168, b"/tmp/x"),
         ("nfsservctl", 180, 0, 0, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
