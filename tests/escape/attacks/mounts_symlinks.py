# harm: a link in a mount leads the cell, or the host that applies it, to another file
# mounts: yes
# not foreign landlock: another Python has no files of its own there
# expect: completed
import os
def attempt(f, *a, **k):
    try:
        return f(*a, **k)
    except OSError:
        return None
for at in ("/ro", "/rw", "/overlay"):
    for target in (CANARY_FILE, CANARY_DIR, "/etc/passwd", "/proc/self/root", "../../../../" + CANARY_FILE):
        name = f"{at}/link"
        attempt(os.symlink, target, name)
        found = attempt(open, name)
        if found:
            print(found.read())
        found = attempt(open, name, "w")
        if found:
            attempt(found.write, "overwritten")
            found.close()
        attempt(os.remove, name)
        # Made elsewhere, brought here.
        if attempt(os.symlink, target, "/tmp/link") is None and os.path.lexists("/tmp/link"):
            attempt(os.rename, "/tmp/link", name)
            attempt(os.link, "/tmp/link", name, follow_symlinks=False)
            attempt(os.remove, "/tmp/link")
        assert not os.path.islink(name), name
