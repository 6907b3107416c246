import asyncio

results = await asyncio.gather(echo(1), echo(2), echo(3))
print(results)
