# harm: a second name for a file of the host, or for the canary, is written through
# mounts: yes
# not foreign landlock: another Python has no files of its own there
# expect: completed
import os
names = ["/ro/host.txt", "/overlay/host.txt", CANARY_FILE, "/etc/passwd"]
for at in ("/ro", "/rw", "/overlay", "/tmp", "/output"):
    for number, name in enumerate(names):
        link = f"{at}/l{number}"
        try:
            os.link(name, link)
        except OSError:
            continue
        try:
            open(link, "w").write("overwritten")
        except OSError:
            pass
