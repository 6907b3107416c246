"""The cell's event loop: asyncio's own, except that it waits for the host, not for sockets."""

import _caisson
import asyncio
import threading
from asyncio import base_events, events, runners

_may_have_threads = False


class _HostSelector:
    """Waits for answers to tool calls, for other threads, or for time to pass."""

    def __init__(self, loop):
        self._loop = loop

    def select(self, timeout):
        if timeout is None and self._would_wait_forever():
            raise RuntimeError("deadlock: every task waits for something that no task will do")
        return _caisson.wait(timeout)

    def _would_wait_forever(self):
        # Nothing but a call's answer, a timer or another thread can wake a cell. Threads are looked for first: when
        # none is left, what the last of them took or gave us is there to be seen.
        return not _has_other_threads() and not _caisson.outstanding() and not self._loop._ready


def _has_other_threads():
    return _may_have_threads and threading.active_count() > 1


def _settle(future, value, error):
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


class EventLoop(base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = _HostSelector(self)

    def _process_events(self, event_list):
        for call, *answer in event_list:
            future = _meet(call, answer)
            if future is None:
                continue
            # The future may belong to another loop: one that was left before its calls were answered,
            # or one that runs in another thread.
            loop = future.get_loop()
            if loop is not self and loop.is_running():
                loop.call_soon_threadsafe(_settle, future, *answer)
            else:
                _settle(future, *answer)

    def _write_to_self(self):
        _caisson.wake()

    async def getaddrinfo(self, *args, **kwargs):
        raise OSError("no network here: use the host's tools instead")

    async def _make_subprocess_transport(self, *args, **kwargs):
        raise OSError("asyncio cannot start processes here")


# It has an underscore since 3.14.
_Policy = getattr(events, "_BaseDefaultEventLoopPolicy", None) or events.BaseDefaultEventLoopPolicy


class EventLoopPolicy(_Policy):
    _loop_factory = EventLoop


_halves = {}  # call -> what came first: the future that waits, or the answer, which another thread took
_main_loop = None


def _meet(call, half):
    """The other half of the call, or None if this is the first. One step decides, whichever threads bring them."""
    first = _halves.setdefault(call, half)
    if first is half:
        return None
    del _halves[call]
    return first


async def tool_call(name, args, kwargs):
    """What a tool call becomes where it is awaited."""
    call = _caisson.post(name, args, kwargs)
    loop = events.get_running_loop()
    if not isinstance(loop, EventLoop):
        return _caisson.finish(call)
    future = loop.create_future()
    answer = _meet(call, future)
    if answer is not None:
        _settle(future, *answer)
    return await future


def run(coroutine):
    """Runs top-level code that awaits, then cancels what it left behind, as asyncio.run does."""
    global _main_loop
    if _main_loop is None or _main_loop.is_closed():
        _main_loop = EventLoop()
    loop = _main_loop
    try:
        return loop.run_until_complete(coroutine)
    finally:
        if asyncio.all_tasks(loop):
            runners._cancel_all_tasks(loop)
        if loop._asyncgens:
            loop.run_until_complete(loop.shutdown_asyncgens())


def install(may_have_threads):
    global _may_have_threads
    _may_have_threads = may_have_threads
    asyncio.set_event_loop_policy(EventLoopPolicy())
