"""The cell's end of its socket (wire/fork_server_messages.h), and above it the module that the guest logic knows
as `_caisson`.

It shares its memory with hostile code, so it is not a boundary. Its counts and checks only give
clear errors; the host checks again (I9). One thread reads for all that wait."""

import struct
import sys
import threading
from collections import deque
from os import _exit, getpid, pipe, read, set_blocking, write
from select import POLLIN, poll
from time import monotonic, monotonic_ns

from caisson import ApprovalDenied, ToolError, UncertainError
from caisson.runner.values import TooBig, TooDeep, Unsupported, decode, encode

_START, _ANSWER, _CANCEL, _AGAIN = 1, 2, 3, 6  # wire::ToWorker
_CALL, _DONE, _REFUSED = 3, 4, 8  # wire::ToHost
_REPORTED, _TRAP, _RESULT_TOO_BIG, _TOOL_CALLS = 0, 1, 6, 7  # wire::Ending
_UNREACHABLE = 4  # wire::Trap
_MEMORY_REFUSED, _CELL_KEPT = 4, 8
_RETURNED, _RAISED, _DENIED = range(3)
_KEEP_CELL = 1
_MORE_FOLLOWS = 1
_MAX_PAYLOAD = 64 << 10
_REPORT_SLACK = 1 << 20
_QUEUE_BYTES = 32 << 10

_frame = struct.Struct("<IHH")
_answer = struct.Struct("<IIQ")
_call = struct.Struct("<II")
_done = struct.Struct("<IIQQQQII")
_start = struct.Struct("<8Q6IQ32s")


class Start:
    """The fields of wire::StartHeader that are needed here."""

    SIZE = _start.size

    def __init__(self, data):
        fields = _start.unpack_from(data)
        self.memory_bytes, self.result_bytes, self.file_bytes = fields[2], fields[5], fields[6]
        self.open_files, self.tool_calls, self.message_bytes = fields[9:12]
        self.request_length, flags = fields[12:14]
        self.is_kept = flags & _KEEP_CELL != 0


class _Stream:
    """Frames, joined to messages."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._arrived = bytearray()
        self._queued = bytearray()

    def has_next(self):
        return len(self._arrived) > 0

    def _need(self, size):
        while len(self._arrived) < size:
            data = read(self._descriptor, 1 << 16)
            if not data:
                _exit(0)  # The host is gone, so the process ends.
            self._arrived += data

    def read(self):
        """Returns (kind, payload) of the next message."""
        message = bytearray()
        while True:
            self._need(_frame.size)
            length, kind, flags = _frame.unpack_from(self._arrived)
            self._need(_frame.size + length)
            message += self._arrived[_frame.size : _frame.size + length]
            del self._arrived[: _frame.size + length]
            if not flags & _MORE_FOLLOWS:
                return kind, bytes(message)

    def queue(self, kind, message):
        for at in range(0, max(len(message), 1), _MAX_PAYLOAD):
            part = message[at : at + _MAX_PAYLOAD]
            more = _MORE_FOLLOWS if at + _MAX_PAYLOAD < len(message) else 0
            self._queued += _frame.pack(len(part), kind, more)
            self._queued += part
        if len(self._queued) > _QUEUE_BYTES:
            self.flush()

    def flush(self):
        data = memoryview(bytes(self._queued))
        self._queued.clear()
        try:
            while data:
                data = data[write(self._descriptor, data) :]
        except OSError:
            _exit(0)


class Bridge:
    """A cell's messages to and from its host, for all its runs."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._stream = _Stream(descriptor)
        self._owner = getpid()
        self._changed = threading.Condition(threading.Lock())
        # Protected by the lock, like everything below.
        self._runs = deque()
        self._is_read = False  # Some thread reads the socket.
        self._wakes = 0
        self._seen_wakes = threading.local()
        self._wake_pipe = None  # Wakes that thread.
        # The host counts a run's calls from 0; here the run is part of a call's number, as in
        # guest/bridge/calls.c.
        self._run = 0
        self._open = set()  # Posted and not answered.
        self._answers = {}  # call: (outcome, value)
        self._claimed = set()  # Calls that some thread waits for by number.
        self.start = None
        self._calls = 0
        self._arrived_ns = self._began_ns = 0

    # Runs.

    def await_run(self):
        """Returns (Start, request, files) of the next run, encoded."""
        with self._changed:
            while not self._runs:
                self._await_news(None)
            self._arrived_ns = monotonic_ns()
            message = self._runs.popleft()
            # A thread that an earlier run left behind waits for ever, because its call belongs to
            # no run.
            self._run += 1
            self._open.clear()
            self._answers.clear()
            self._calls = 0
            self.start = Start(message)
        end = Start.SIZE + self.start.request_length
        self._began_ns = monotonic_ns()
        return self.start, message[Start.SIZE : end], message[end:]

    def refuse(self, why):
        self._stream.queue(_REFUSED, why.encode())
        self._stream.flush()

    def report(self, message, is_memory_refused):
        if self._is_forked():
            _exit(0)
        if len(message) > self.start.result_bytes + _REPORT_SLACK:
            self._stop(_RESULT_TOO_BIG)
        flags = _CELL_KEPT if self.start.is_kept else 0
        with self._changed:
            self._send_done(_REPORTED, flags | (_MEMORY_REFUSED if is_memory_refused else 0), message)

    def abort(self):
        """Implements os.abort(): SIGABRT cannot kill the first process of a pid namespace."""
        if not self._is_forked():
            self._send_done(_TRAP, 0, b"", _UNREACHABLE)
        _exit(1)

    def _send_done(self, ending, flags, message, detail=0):
        now = monotonic_ns()
        # The host measures CPU time; the fork server reports memory.
        done = _done.pack(
            ending, detail, self._began_ns - self._arrived_ns, now - self._arrived_ns, 0, 0, flags, self._calls
        )
        self._stream.queue(_DONE, done + message)
        self._stream.flush()

    def _stop(self, ending):
        with self._changed:
            self._send_done(ending, 0, b"")
            _exit(0)

    def _is_forked(self):
        """A process that code forked from the cell is not part of the conversation."""
        return getpid() != self._owner

    # Calls.

    def post(self, name, args, kwargs):
        if self._is_forked():
            raise ToolError("CallRefused", "a process that the code forked cannot call tools")
        message = self._encoded([name, list(args), kwargs or {}], self.start.message_bytes)
        if message is None:
            raise ToolError("CallRefused", "the arguments are larger than a call may have")
        if self._calls >= self.start.tool_calls:
            self._stop(_TOOL_CALLS)
        with self._changed:
            seq = self._calls
            self._calls += 1
            self._open.add(self._call_of(seq))
            # Sent when a thread waits: calls that are made together wake the host once.
            self._stream.queue(_CALL, _call.pack(seq, 0) + message)
            return self._call_of(seq)

    def _call_of(self, seq):
        return self._run << 32 | seq

    @staticmethod
    def _encoded(call, limit):
        """Returns None if it is too large."""
        try:
            return encode(call, limit)
        except TooBig:
            return None
        except Unsupported as error:
            culprit = error.culprit
        except TooDeep:
            raise ValueError("tool arguments are nested too deeply, or contain themselves") from None
        if isinstance(culprit, str):
            raise TypeError("a tool cannot be given a str with lone surrogates")
        raise TypeError(
            f"a tool cannot be given an object of type '{type(culprit).__name__:.200}'; pass plain data "
            "(dict, list, tuple, str, bytes, int, float, bool, None)"
        )

    def finish(self, call):
        """Returns the value of a call, or raises its error."""
        with self._changed:
            self._claimed.add(call)
            while call not in self._answers:
                self._await_news(None)
            self._claimed.discard(call)
            answer = self._answers.pop(call)
        value, error = self._settled(answer)
        if error is not None:
            raise error
        return value

    def wait(self, timeout):
        """Returns [(call, value, error)] of answers that no thread waits for by number, once there
        is one or the time is over."""
        deadline = None if timeout is None else monotonic() + max(timeout, 0)
        with self._changed:
            looked = False
            while not self._unclaimed():
                wakes = getattr(self._seen_wakes, "count", 0)
                self._seen_wakes.count = self._wakes
                over = looked and deadline is not None and monotonic() >= deadline
                if wakes != self._wakes or over or (timeout == 0 and not self._open):
                    break
                if self._wake_pipe is None:
                    self._wake_pipe = pipe()
                    for end in self._wake_pipe:
                        set_blocking(end, False)
                self._await_news(deadline)
                looked = True
            answers = [(call, self._answers.pop(call)) for call in self._unclaimed()]
        return [(call, *self._settled(answer)) for call, answer in answers]

    def outstanding(self):
        with self._changed:
            return len(self._open) + len(self._answers)

    def wake(self):
        with self._changed:
            self._wakes += 1
            self._changed.notify_all()
            if self._wake_pipe is not None:
                try:
                    write(self._wake_pipe[1], b"w")
                except BlockingIOError:
                    pass

    def _unclaimed(self):
        return [call for call in self._answers if call not in self._claimed]

    @staticmethod
    def _settled(answer):
        """Returns (value, error)."""
        outcome, value = answer
        if outcome == _RETURNED:
            return value, None
        if outcome == _DENIED:
            return None, ApprovalDenied(*(value if isinstance(value, tuple) else (value,)))
        if isinstance(value, tuple) and len(value) == 2:
            kind, message = value
            return None, UncertainError(message) if kind == "UncertainError" else ToolError(kind, message)
        return None, ToolError("ToolError", value)

    # The socket. Call all of this with the lock held; it is released while waiting.

    def _await_news(self, deadline):
        """Waits until something has happened that this thread may have waited for, or until the
        deadline."""
        if self._is_forked():
            _exit(1)  # No answer will ever come here.
        self._stream.flush()
        if self._is_read:
            self._changed.wait(None if deadline is None else max(deadline - monotonic(), 0))
            return
        self._is_read = True
        self._changed.release()
        try:
            message = self._listen(deadline)
        finally:
            self._changed.acquire()
            self._is_read = False
        if message is not None:
            self._deliver(*message)
        self._changed.notify_all()

    def _listen(self, deadline):
        if not self._stream.has_next():
            poller = poll()
            poller.register(self._descriptor, POLLIN)
            if self._wake_pipe is not None:
                poller.register(self._wake_pipe[0], POLLIN)
            left = None if deadline is None else max(deadline - monotonic(), 0) * 1000
            ready = [descriptor for descriptor, _ in poller.poll(left)]
            if self._wake_pipe is not None and self._wake_pipe[0] in ready:
                read(self._wake_pipe[0], 1 << 10)
            if self._descriptor not in ready:
                return None
        return self._stream.read()

    def _deliver(self, kind, message):
        if kind in (_START, _AGAIN):
            self._runs.append(message)
        elif kind == _ANSWER:
            call = self._call_of(_answer.unpack_from(message)[0])
            if call in self._open:  # Only if it is a call of this run.
                self._open.discard(call)
                self._answers[call] = decode(message[_answer.size :])[1:]
        elif kind == _CANCEL:
            _exit(0)
        else:
            sys.exit("no frame of a host")


def as_module(bridge, source):
    """Makes the module that the guest logic imports as `_caisson`."""
    module = type(sys)("_caisson")
    for name in ("post", "finish", "wait", "outstanding", "wake"):
        setattr(module, name, getattr(bridge, name))
    module.source = source
    return module
