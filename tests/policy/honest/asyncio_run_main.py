import asyncio
import time


async def worker(name: str, queue: asyncio.Queue, results: list) -> None:
    while True:
        item = await queue.get()
        try:
            await asyncio.sleep(0.001)
            results.append(item * item)
        finally:
            queue.task_done()


async def main() -> list:
    queue: asyncio.Queue[int] = asyncio.Queue()
    results: list[int] = []
    for n in range(6):
        queue.put_nowait(n)
    workers = [asyncio.create_task(worker(f"w{n}", queue, results)) for n in range(3)]
    await queue.join()
    for task in workers:
        task.cancel()
    done = await asyncio.gather(*workers, return_exceptions=True)
    print([type(d).__name__ for d in done])
    async with asyncio.timeout(5), asyncio.Lock():
        await asyncio.wait_for(asyncio.sleep(0), timeout=1)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0))
            group.create_task(fail())
    except* ValueError as errors:
        print("group:", [str(e) for e in errors.exceptions])
    semaphore = asyncio.Semaphore(2)
    async with semaphore:
        pass
    return sorted(results)


async def fail():
    raise ValueError("bad")


if __name__ == "__main__":
    started = time.monotonic()
    print(asyncio.run(main()))
    print(time.monotonic() - started < 5)
