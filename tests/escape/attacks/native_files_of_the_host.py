# harm: a file of the host that is no library is read, listed or written
# engines: native
# expect: completed
# never: reached
import os
for path in (CANARY_FILE, CANARY_DIR, "/etc/shadow", "/etc/sudoers", "/etc/ssh", "/root", "/home", "/var", "/run", "/boot", "/srv", "/mnt", "/opt", "/sys", "/sys/kernel",
             "/proc/1/environ", "/proc/self/environ", "/proc/self/mem", "/proc/self/maps", "/proc/self/root", "/proc/kcore", "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern",
             "/proc/self/ns/user", "/proc/self/attr/current", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/tty", "/dev/console", "/dev/ptmx",
             "/dev/shm", "/dev/mqueue", "/dev/loop-control", "/usr/bin/su", "/.dockerenv"):
    for use in (lambda: os.read(os.open(path, os.O_RDONLY), 10), lambda: os.open(path, os.O_WRONLY), lambda: os.listdir(path), lambda: os.open(path + "/new", os.O_CREAT | os.O_RDWR),
                lambda: os.unlink(path), lambda: os.rename(path, "/tmp/x"), lambda: os.truncate(path, 0), lambda: os.chmod(path, 0o777), lambda: os.link(path, "/tmp/l")):
        try:
            print("reached", path, use())
        except (OSError, ValueError):
            pass
