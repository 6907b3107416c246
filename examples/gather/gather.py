# Five slow calls side by side: the whole takes about as long as one.
#
#   caisson run --config caisson.toml gather.py
import asyncio

temperatures = await asyncio.gather(*(measure(station=n) for n in range(5)))
print("warmest:", max(temperatures))

# Without await it is an ordinary call.
measure(station=9)
