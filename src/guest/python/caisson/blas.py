"""Room for OpenBLAS, beside a run's memory.

At its first product OpenBLAS maps a buffer far larger than what it will touch, and tries again for ever if that is
refused. Addresses are what a cell's memory is limited by, so it would be refused. Therefore a cell holds as many
addresses from before it has a limit, and lets go of them for the sake of this buffer.
"""

import mmap
import sys

_BUFFER_BYTES = 128 << 20  # Debian's; those of PyPI's wheels have 32 MiB.

_room = mmap.mmap(-1, _BUFFER_BYTES, flags=mmap.MAP_PRIVATE, prot=0)


def settle():
    """Once numpy is there: the first product, in the room that is held for it."""
    _room.close()
    ones = sys.modules["numpy"].ones
    # Small enough to cost nothing, too long for what OpenBLAS does on its stack.
    ones((2, 600)) @ ones(600)
