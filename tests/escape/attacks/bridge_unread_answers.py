# harm: large answers to a thousand calls, none of which the code reads, fill the host
# expect: limit
# limit: wall_seconds=3 tool_calls=2000
import asyncio
calls = [asyncio.ensure_future(tool("answer", 1_000_000)) for _ in range(1024)]
await asyncio.sleep(0.01)
while True:
    pass
