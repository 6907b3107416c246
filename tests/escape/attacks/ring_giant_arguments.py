# harm: arguments beyond the message limit reach the host
# expect: completed limit/memory
# never: crossed
for make in (lambda: b"x" * (9 << 20), lambda: "é" * (5 << 20), lambda: [0] * (9 << 20), lambda: {str(i): "x" * 1000 for i in range(9000)},
             lambda: 1 << (9 << 23), lambda: [b"x" * (1 << 20)] * 9):
    try:
        tool(make())
        print("crossed")
    except ToolError:
        pass
