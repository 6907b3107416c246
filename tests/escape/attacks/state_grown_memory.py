# harm: pages that were grown and freed are handed, unwiped, to the next run
# expect: completed
blocks = [bytearray(b"SECRET-OF-GROWN-MEMORY " * 40000) for _ in range(60)]
len(blocks)
