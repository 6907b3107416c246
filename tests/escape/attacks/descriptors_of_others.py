# harm: descriptors, memory or environments of the host or of another cell are opened through /proc
# engines: native
# expect: completed
# never: opened
import os
own, parent = os.getpid(), os.getppid()
for pid in {1, parent, *range(max(1, own - 300), own + 100), *range(max(1, parent - 100), parent + 100)} - {own, 0}:
    for name in ("environ", "mem", "maps", "root", "cwd", "exe", "fdinfo/0", "ns/net", "stack", "syscall", *(f"fd/{n}" for n in range(0, 12))):
        for flags in (os.O_RDONLY, os.O_WRONLY):
            try:
                print("opened", pid, name, os.open(f"/proc/{pid}/{name}", flags))
            except OSError:
                pass
