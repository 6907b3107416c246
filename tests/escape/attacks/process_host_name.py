# harm: the machine's own name is told
# engines: native
# not landlock: the machine's name can be read there (docs/engines.md)
# expect: completed
# never: had
import os, socket
names = os.uname()
if names.nodename != "caisson" or socket.gethostname() != "caisson":
    print("had", names.nodename)
