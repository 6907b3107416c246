import asyncio
import contextlib


class Ticker:
    def __init__(self, count):
        self.count = count

    def __aiter__(self):
        self.i = 0
        return self

    async def __anext__(self):
        if self.i >= self.count:
            raise StopAsyncIteration
        self.i += 1
        await asyncio.sleep(0)
        return self.i


@contextlib.asynccontextmanager
async def session(name):
    print("open", name)
    try:
        yield name.upper()
    finally:
        print("close", name)


async def squares(source):
    async for n in source:
        yield n * n


async with session("main") as s:
    values = [v async for v in squares(Ticker(4)) if v % 2 == 0]
    try:
        await asyncio.wait_for(asyncio.sleep(5), timeout=0.001)
    except asyncio.TimeoutError:
        values.append(s)
values
