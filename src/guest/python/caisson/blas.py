"""Reserves address space for OpenBLAS in addition to a run's memory.

At its first product OpenBLAS maps a buffer far larger than it will use, and retries for ever if
that is refused. The memory limit of a cell counts addresses, so it would be refused. Therefore a
cell reserves as many addresses before it has a limit, and releases them for this buffer."""

import mmap
import sys

_BUFFER_BYTES = 128 << 20  # The size in Debian; in the wheels of PyPI it is 32 MiB.

_room = mmap.mmap(-1, _BUFFER_BYTES, flags=mmap.MAP_PRIVATE, prot=0)


def settle():
    """After numpy is imported: does the first product, in the reserved space."""
    _room.close()
    ones = sys.modules["numpy"].ones
    # Small enough to cost nothing, too long for OpenBLAS to use its stack.
    ones((2, 600)) @ ones(600)
