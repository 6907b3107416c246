# harm: a library in a mount becomes machine code that nobody has checked
# mounts: yes
# engines: native
# not landlock: it depends on the mount of the scratch directory there (docs/engines.md, noexec_files)
# expect: completed
# never: loaded
import ctypes, mmap, os, shutil
source = next(p for p in ("/usr/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib/aarch64-linux-gnu/libz.so.1")
              if os.path.exists(p))
for at in ("/rw", "/overlay", "/tmp", "/output"):
    copy = shutil.copyfile(source, f"{at}/lib.so")
    try:
        ctypes.CDLL(copy)
        print("loaded", copy)
    except OSError:
        pass
    with open(copy, "r+b") as f:
        try:
            mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
            print("loaded by hand", copy)
        except OSError:
            pass
    try:
        os.execv(copy, [copy])
    except OSError:
        pass
    os.remove(copy)
