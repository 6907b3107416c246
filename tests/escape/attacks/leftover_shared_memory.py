# harm: shared memory, queues and semaphores stay, or are another cell's
# engines: native
# expect: completed
# never: shared
import ctypes
from multiprocessing import shared_memory
libc = ctypes.CDLL(None, use_errno=True)
SHMGET, SEMGET, MSGGET, MQ_OPEN = 29, 64, 68, 240
for number, arguments in ((SHMGET, (0x5EC, 4096, 0o1666)), (SHMGET, (0, 4096, 0o1666)), (SEMGET, (0x5EC, 1, 0o1666)), (MSGGET, (0x5EC, 0o1666)), (MQ_OPEN, (b"leftover", 0o102, 0o666, None))):
    if libc.syscall(number, *arguments) != -1:
        print("shared", number)
try:
    shared_memory.SharedMemory("leftover", create=True, size=4096)
    print("shared /dev/shm")
except (OSError, ImportError):
    pass
