import asyncio


async def worker(name: str, queue: asyncio.Queue) -> int:
    done = 0
    while True:
        item = await queue.get()
        if item is None:
            return done
        await asyncio.sleep(0)
        done += item


async def main():
    queue = asyncio.Queue(maxsize=5)
    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(worker(f"w{i}", queue)) for i in range(3)]
        for n in range(10):
            await queue.put(n)
        for _ in workers:
            await queue.put(None)
    return sum(w.result() for w in workers)


asyncio.run(main())
