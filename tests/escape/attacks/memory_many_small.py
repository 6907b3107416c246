# harm: millions of small objects reach the machine's end
# expect: limit/memory
# limit: memory_bytes=64000000
head = None
while True:
    head = (head, object())
