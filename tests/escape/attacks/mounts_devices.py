# harm: device nodes, pipes and forged notes of the overlay get into the layer and out to the host
# mounts: yes
# engines: native
# not foreign landlock: another Python has no files of its own there
# expect: completed
# never: made noted
import os, stat
for at in ("/ro", "/rw", "/overlay"):
    for kind, device in ((stat.S_IFCHR, 0), (stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFBLK, os.makedev(8, 0)),
                         (stat.S_IFIFO, 0), (stat.S_IFSOCK, 0)):
        try:
            os.mknod(f"{at}/node", kind | 0o666, device)
            print("made", at, kind)
        except OSError:
            pass
    for note in ("user.overlay.opaque", "user.overlay.redirect", "user.overlay.origin", "trusted.overlay.opaque"):
        try:
            os.setxattr(f"{at}/host.txt", note, b"y")
            print("noted", at, note)
        except OSError:
            pass
for at in filter(os.path.isdir, ("/ro", "/rw")):
    assert sorted(os.listdir(at)) == ["host.txt"], os.listdir(at)
