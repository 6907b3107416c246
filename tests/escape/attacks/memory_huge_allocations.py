# harm: one huge allocation after another wraps a size, or takes the host's memory
# expect: completed limit/memory
# never: was
for make in (lambda: bytearray(2**31 - 1), lambda: bytearray(2**32 + 5), lambda: [0] * (2**29), lambda: "x" * (2**31 - 10),
             lambda: (0,) * (2**30), lambda: bytes(2**63 - 1),
             lambda: "é" * (2**30), lambda: b"%*d" % (2**31 - 1, 1), lambda: "{:>{}}".format(1, 2**31 - 1),
             lambda: 1 << (2**34), lambda: bytearray(1).zfill(2**31 - 1), lambda: "a".ljust(2**31 - 1)):
    try:
        make()
        print("was given it")
    except (MemoryError, OverflowError, ValueError) as error:
        pass
