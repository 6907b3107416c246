# harm: files are opened by handle, past every path
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 3
import ctypes
calls = (("name_to_handle_at", 303, -100, b"/tmp", 0, 0, 0),
         ("open_by_handle_at", 304, -100, b"", 0),
         ("open_by_handle_at 3", 304, 3, b"\0" * 136, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
