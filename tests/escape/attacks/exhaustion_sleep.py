# harm: a run that waits for ever holds its cell for ever
# expect: limit/wall_time
# limit: wall_seconds=0.5
import asyncio, time
try:
    time.sleep(1e9)
except BaseException:
    pass
asyncio.run(asyncio.sleep(1e9))
