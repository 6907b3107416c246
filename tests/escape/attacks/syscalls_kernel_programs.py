# harm: code or queues are put into the kernel: bpf, perf, io_uring, userfaultfd
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 10
import ctypes
calls = (("bpf", 321, 0, 0, 0),
         ("bpf load", 321, 5, 0, 120),
         ("perf_event_open", 298, 0, 0, -1, -1, 0),
         ("io_uring_setup", 425, 8, 0),
         ("io_uring_enter", 426, 0, 0, 0, 0, 0),
         ("io_uring_register", 427, 0, 0, 0, 0),
         ("userfaultfd", 323, 0),
         ("userfaultfd user mode", 323, 1),
         ("fanotify_init", 300, 0, 0),
         ("lookup_dcookie", 212, 0, 0, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
