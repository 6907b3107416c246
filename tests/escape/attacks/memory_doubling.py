# harm: memory that doubles reaches the machine's end
# expect: limit/memory
# limit: memory_bytes=100000000
a = [b"x" * 1000]
while True:
    a += a
