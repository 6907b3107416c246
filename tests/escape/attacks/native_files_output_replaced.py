# harm: /output becomes a link to the host's files, and the host captures those
# engines: native
# not foreign landlock: another Python has no files of its own there
# expect: completed
import os, shutil
for folder in ("/output", "/tmp", "/input"):
    for make in (lambda: os.rmdir(folder), lambda: os.rename(folder, folder + "x"), lambda: os.rename(folder, "/tmp/moved"), lambda: os.symlink(CANARY_DIR, folder),
                 lambda: os.symlink("/etc", folder + "/etc"), lambda: os.symlink(CANARY_FILE, folder + "/canary"), lambda: os.symlink("/proc/self/root", folder + "/proc"),
                 lambda: os.symlink("../" * 40 + CANARY_FILE.lstrip("/"), folder + "/up"), lambda: os.symlink("canary", folder + "/chain")):
        try:
            make()
        except OSError:
            pass
os.listdir("/output")
