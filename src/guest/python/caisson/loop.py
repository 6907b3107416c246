"""The cell's event loop: asyncio's own, except that it waits for the host, not for sockets."""

import _caisson
import asyncio
import sys
import threading
from asyncio import base_events, events, runners

_may_have_threads = False


class _HostSelector:
    """Waits for answers to tool calls, for other threads, or for a timeout."""

    def __init__(self, loop):
        self._loop = loop

    def select(self, timeout):
        if timeout is None and self._would_wait_forever():
            raise RuntimeError("deadlock: every task waits for something that no task will do")
        return _caisson.wait(timeout)

    def _would_wait_forever(self):
        # Only a call's answer, a timer or another thread can wake a cell. Threads are checked
        # first: when none is left, everything that the last of them took or gave us is visible.
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
            pending = _meet(call, answer)
            if pending is not None:
                pending.settle(answer)

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


# call -> the half that came first: the PendingCall, or the answer, which another thread took
_halves = {}
_unawaited = {}  # PendingCall -> None: nothing has requested their answers yet.
_main_loop = None


def _meet(call, half):
    """Returns the other half of the call, or None if this is the first. One atomic step decides,
    whichever threads bring them."""
    first = _halves.setdefault(call, half)
    if first is half:
        return None
    del _halves[call]
    return first


class PendingCall:
    """A tool call in a place where it is awaited: made at once, and can be awaited any number of
    times.

    asyncio sees a coroutine, so that it makes tasks of it."""

    __slots__ = ("_name", "_call", "_answer", "_waiting", "_driven")

    def __init__(self, name, args, kwargs):
        self._name = name
        self._answer = None  # [value, error]
        self._waiting = []
        self._driven = None
        _unawaited[self] = None
        try:
            self._call = _caisson.post(name, args, kwargs)
        except Exception as error:  # Raised where the call is awaited, like all its errors.
            self._answer = [None, error]
            return
        answer = _meet(self._call, self)
        if answer is not None:
            self._answer = answer

    def __repr__(self):
        return f"<pending call of {self._name}>"

    def settle(self, answer):
        self._answer = answer
        for future in self._waiting:
            # It may belong to another loop: one that was left before its calls were answered, or
            # one that runs in another thread.
            loop = future.get_loop()
            if loop is not events._get_running_loop() and loop.is_running():
                loop.call_soon_threadsafe(_settle, future, *answer)
            else:
                _settle(future, *answer)

    def finish(self):
        """Waits in place, whatever the loop is."""
        try:
            answer = [_caisson.finish(self._call), None]
        except Exception as error:
            answer = [None, error]
        _halves.pop(self._call, None)
        self.settle(answer)

    def future(self):
        """Returns its answer, for functions of asyncio that would make a task of it; itself on a
        foreign loop."""
        loop = events._get_running_loop()
        if not isinstance(loop, EventLoop):
            return self
        _unawaited.pop(self, None)
        future = loop.create_future()
        self._waiting.append(future)
        if self._answer is not None:  # Checked last: another thread may have settled it meanwhile.
            _settle(future, *self._answer)
        return future

    async def _wait(self):
        _unawaited.pop(self, None)
        if self._answer is None:
            future = self.future()
            if future is not self:
                return await future
            self.finish()
        value, error = self._answer
        if error is not None:
            raise error
        return value

    def __await__(self):
        return self._wait().__await__()

    def send(self, value):
        driven = self._driven
        if driven is None:
            driven = self._driven = self._wait()
        try:
            return driven.send(value)
        except BaseException:
            self._driven = None  # It has ended; another task may start again.
            raise

    def throw(self, *error):
        driven, self._driven = self._driven or self._wait(), None
        return driven.throw(*error)

    def close(self):
        if self._driven is not None:
            self._driven.close()

    def conclude(self):
        """Shows the error of a call that nobody awaited."""
        if self._answer is None:
            self.finish()
        error = self._answer[1]
        if error is not None:
            text = f"{type(error).__name__}: {error}"
            print(f"{text}\n  in a call of {self._name} that was never awaited", file=sys.stderr)


tool_call = PendingCall


def conclude():
    """Called before a run ends: waits until all its calls are done, awaited or not."""
    while _unawaited:
        pending = next(iter(_unawaited))
        del _unawaited[pending]
        pending.conclude()


def run(coroutine):
    """Runs top-level code that awaits, then cancels the remaining tasks, as asyncio.run does."""
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
