# harm: a file that is all holes fills the host's memory when it is captured, or its disk when it is applied
# mounts: yes
# not foreign landlock: another Python has no files of its own there
# expect: completed failed/files
import os
for at in ("/ro", "/rw", "/overlay"):
    for number in range(20):
        try:
            with open(f"{at}/sparse{number}", "wb") as f:
                for size in (1 << 62, 1 << 40, 1 << 33, 30 << 20):
                    try:
                        f.truncate(size)
                        break
                    except OSError:
                        pass
                f.seek((1 << 40) + number)
                f.write(b"x")
        except OSError:
            pass
