# harm: pipes take the memory that the kernel grants for those of all cells
# engines: native
# not foreign landlock: another Python has no threads there
# expect: completed
# never: many
import os, threading
held, refused = [], 0
def hold():
    global refused
    for _ in range(60):
        try:
            ends = os.pipe()
        except OSError:
            refused += 1
            continue
        os.close(ends[1])
        held.append(ends[0])
threads = [threading.Thread(target=hold) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert held and refused, (len(held), refused)
if len(held) > 24:
    print("many", len(held))
for fd in held: os.close(fd)
