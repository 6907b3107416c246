def popcount(n):
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


flags = {"read": 1 << 0, "write": 1 << 1, "execute": 1 << 2}
mode = flags["read"] | flags["execute"]
mode ^= flags["write"]
names = [name for name, bit in flags.items() if mode & bit]
print(f"{mode:#05b}", names, popcount(0b1011), (255).to_bytes(2, "big"), int("ff", 16), ~5 & 0xFF)
gray = [n ^ (n >> 1) for n in range(8)]
[format(g, "03b") for g in gray]
