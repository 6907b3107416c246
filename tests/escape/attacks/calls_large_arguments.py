# harm: eight calls whose arguments take one byte each on the wire take forty in the host, 2.5 GB together
# expect: completed
# limit: memory_bytes=536870912 wall_seconds=30 cpu_seconds=30
import asyncio
big = [None] * 8_000_000
answers = await asyncio.gather(*[tool(big) for _ in range(8)], return_exceptions=True)
assert len(answers) == 8
tool(b"x")
