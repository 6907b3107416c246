"""Makes keys that all have the same hash in libstdc++ (MurmurHash64A with a fixed seed), against
tables that use it without a secret key."""

import random

M = 0xC6A4A7935BD1E995
MASK = (1 << 64) - 1
INVERSE = pow(M, -1, 1 << 64)
TOP = 1 << 63


def unmix(mixed):
    """Returns the block of eight bytes that the hash mixes to this value."""
    value = mixed * INVERSE & MASK
    value ^= value >> 47
    return value * INVERSE & MASK


def mix(block):
    value = block * M & MASK
    value ^= value >> 47
    return value * M & MASK


def is_text(block):
    """Returns whether all bytes are ASCII: the key must be UTF-8, so that JSON can carry it."""
    return block & 0x8080808080808080 == 0


def twin_blocks(count):
    """Returns pairs of ASCII blocks whose mixed values differ only in the top bit. A second such
    pair cancels the difference."""
    found = []
    number = random.Random(1)
    while len(found) < count:
        block = number.getrandbits(64) & 0x7F7F7F7F7F7F7F7F
        twin = unmix(mix(block) ^ TOP)
        if is_text(twin):
            found.append((block.to_bytes(8, "little").decode(), twin.to_bytes(8, "little").decode()))
    return found


def halves():
    """Returns two texts that can replace each other anywhere in a key without changing its hash."""
    (a, a2), (b, b2) = twin_blocks(2)
    return a + b, a2 + b2


def hash_bytes(data, seed=0xC70F6907):
    """Computes std::hash<std::string> for lengths that are multiples of eight."""
    value = seed ^ (len(data) * M & MASK)
    for at in range(0, len(data), 8):
        value = (value ^ mix(int.from_bytes(data[at:at + 8], "little"))) * M & MASK
    value ^= value >> 47
    value = value * M & MASK
    return value ^ value >> 47


if __name__ == "__main__":
    one, other = halves()
    keys = [a + b + c for a in (one, other) for b in (one, other) for c in (one, other)]
    assert len({hash_bytes(key.encode()) for key in keys}) == 1 and len(set(keys)) == 8
    print(repr(one), repr(other))
