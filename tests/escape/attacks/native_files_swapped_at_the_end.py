# harm: names that change between the host's look and its read
# engines: native
# not foreign landlock: another Python has no files of its own there
# expect: completed
# limit: wall_seconds=5
import os, threading
def swap(folder):
    while True:
        for make in (lambda: open(folder + "/a", "w").write("plain"), lambda: os.symlink(CANARY_FILE, folder + "/b"), lambda: os.rename(folder + "/b", folder + "/a"),
                     lambda: os.mkdir(folder + "/d"), lambda: os.rename(folder + "/a", folder + "/d/a"), lambda: os.symlink(CANARY_DIR, folder + "/e"),
                     lambda: os.rename(folder + "/d", folder + "/f"), lambda: os.rename(folder + "/e", folder + "/d"), lambda: os.unlink(folder + "/d")):
            try:
                make()
            except OSError:
                pass
for _ in range(4):
    threading.Thread(target=swap, args=("/output",), daemon=True).start()
for _ in range(200_000):
    pass
