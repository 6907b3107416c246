"""The cell's event loop: asyncio's own, except that it waits for the host, not for sockets."""

import _caisson
import asyncio
import threading
from asyncio import base_events, events, runners

_may_have_threads = False


class _HostSelector:
    """Waits for answers to tool calls, for other threads, or for time to pass."""

    def select(self, timeout):
        if timeout is None and not _caisson.outstanding() and not _has_other_threads():
            # Nothing but a call's answer or a timer can wake a cell: this would wait forever.
            raise RuntimeError("deadlock: every task waits for something that no task will do")
        return _caisson.wait(timeout)


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
        self._selector = _HostSelector()

    def _process_events(self, event_list):
        for seq, value, error in event_list:
            future = _waiting.pop(seq, None)
            if future is None:
                if _may_have_threads:
                    _early[seq] = value, error
                continue
            # The future may belong to another loop: one that was left before its calls were answered,
            # or one that runs in another thread.
            loop = future.get_loop()
            if loop is not self and loop.is_running():
                loop.call_soon_threadsafe(_settle, future, value, error)
            else:
                _settle(future, value, error)

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


_waiting = {}  # call number -> the future that waits for its answer
_early = {}  # call number -> answer that another thread took before the future was there
_main_loop = None


async def tool_call(name, args, kwargs):
    """What a tool call becomes where it is awaited."""
    seq = _caisson.post(name, args, kwargs)
    loop = events.get_running_loop()
    if not isinstance(loop, EventLoop):
        return _caisson.finish(seq)
    future = _waiting[seq] = loop.create_future()
    if seq in _early:
        _settle(_waiting.pop(seq), *_early.pop(seq))
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
