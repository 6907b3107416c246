# harm: mounts are changed, by the old calls or the new
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 13
import ctypes
calls = (("mount", 165, b"none", b"/tmp", b"tmpfs", 0, 0),
         ("remount", 165, b"none", b"/", None, 32, 0),
         ("umount2", 166, b"/usr", 2),
         ("pivot_root", 155, b"/tmp", b"/tmp"),
         ("fsopen", 430, b"tmpfs", 0),
         ("fsconfig", 431, 0, 0, 0, 0, 0),
         ("fsmount", 432, 0, 0, 0),
         ("fspick", 433, -100, b"/", 0),
         ("move_mount", 429, -100, b"/tmp", -100, b"/usr", 0),
         ("open_tree", 428, -100, b"/", 1),
         ("mount_setattr", 442, -100, b"/", 0, 0, 0),
         ("swapon", 167, b"/tmp/x", 0),
         ("quotactl", 179, 0, 0, 0, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
