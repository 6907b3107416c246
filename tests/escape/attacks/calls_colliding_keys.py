# harm: 16,384 keys that collide in the hash of C++ keep the host busy for seconds
# expect: completed
# limit: wall_seconds=30 cpu_seconds=30
import random
MUL, MASK, ASCII = 0xc6a4a7935bd1e995, (1 << 64) - 1, 0x8080808080808080
INVERSE = pow(MUL, -1, 1 << 64)
STAGES = 14

def fold(value):
    return value ^ (value >> 47)

# Two pairs of blocks that lead to the same state, however the first of them is chosen.
def stage(state):
    target, pairs = random.getrandbits(64), []
    while len(pairs) < 2:
        first = random.getrandbits(64) & ~ASCII & MASK
        mixed = fold(first * MUL & MASK) * MUL & MASK
        wanted = target ^ ((state ^ mixed) * MUL & MASK)
        second = fold(wanted * INVERSE & MASK) * INVERSE & MASK
        if second & ASCII == 0:
            pairs.append((first.to_bytes(8, "little") + second.to_bytes(8, "little")).decode())
    return pairs, target * MUL & MASK

state, keys = 0xc70f6907 ^ (STAGES * 16 * MUL & MASK), [""]
for _ in range(STAGES):
    pairs, state = stage(state)
    keys = [key + pair for key in keys for pair in pairs]
assert len(set(keys)) == 1 << STAGES
for _ in range(3):
    tool(dict.fromkeys(keys))
dict.fromkeys(keys[:500])
