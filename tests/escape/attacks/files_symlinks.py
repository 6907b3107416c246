# harm: a link made in the cell leads out of it, or the host follows it when it captures
# expect: completed
import os
for make in (os.symlink, os.link):
    for target, link in ((CANARY_FILE, "/output/link"), ("/", "/output/root"), ("/output/loop", "/output/loop"),
                         ("../../../../.." + CANARY_FILE, "/tmp/up"), ("/proc/self", "/tmp/self")):
        try:
            make(target, link)
            print(open(link).read())
        except (OSError, AttributeError, NotImplementedError):
            pass
try:
    print(os.listdir("/output/root"), open("/output/root" + CANARY_FILE).read())
except OSError:
    pass
