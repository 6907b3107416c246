# harm: extended attributes hold memory that nobody counts, or labels that others obey
# engines: native
# expect: completed
# never: set
import os
for path in ("/tmp", "/output", "/etc/passwd"):
    for name in ("user.x", "security.capability", "security.selinux", "trusted.x", "system.posix_acl_access"):
        try:
            os.setxattr(path, name, b"x" * 100)
            print("set", path, name)
        except OSError:
            pass
