# harm: messages just at the limit, the ring's size and the frame's size are cut or joined wrongly
# expect: completed
# limit: wall_seconds=60
sizes = [(1 << n) + d for n in (12, 16, 19, 20, 21, 22) for d in (-40, -33, -32, -31, -17, -16, -9, -8, -1, 0, 1, 8)]
for size in sizes + [(8 << 20) - 64]:
    assert tool(b"x" * size) == size, size
for size in range((8 << 20) - 64, (8 << 20) + 64):
    try:
        assert tool(b"x" * size) == size
    except ToolError:
        break
else:
    raise AssertionError("never refused")
