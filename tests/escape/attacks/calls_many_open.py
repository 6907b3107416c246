# harm: thousands of calls that are open at once fill the host, or keep its lane from other runs
# expect: completed
# limit: tool_calls=5000 wall_seconds=30 cpu_seconds=30
import asyncio
answers = await asyncio.gather(*[tool(bytes(8192)) for _ in range(4000)], return_exceptions=True)
assert len(answers) == 4000
assert all(a == 8192 or "open" in str(a) for a in answers), answers[-1]
