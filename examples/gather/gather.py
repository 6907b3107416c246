# Makes five slow calls in parallel: together they take about as long as one.
#
#   caisson run --config caisson.toml gather.py
import asyncio

temperatures = await asyncio.gather(*(measure(station=n) for n in range(5)))
print("warmest:", max(temperatures))

# Without await it is an ordinary call.
measure(station=9)
