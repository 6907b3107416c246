"""Starts the guest logic of src/guest/runner in an interpreter, outside of any jail, and sends it
runs as the host does."""

import importlib.util
import marshal
import os
import pathlib
import socket
import struct
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_RUNNER = _ROOT / "src/guest/runner"
_START, _AGAIN = 1, 6
_DONE = 4
_KEEP_CELL = 1
_JUDGE = 1022
_MAX_PAYLOAD = 64 << 10


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


values = _load("values", _RUNNER / "values.py")
_pack = _load("pack_runner", _ROOT / "tools/guest/pack_runner.py")


def _memory_file(data=b""):
    descriptor = os.memfd_create("runner")
    os.write(descriptor, data)
    return descriptor


class Interpreter:
    def __init__(self, program, judge):
        """`judge`: the command that starts one, without its socket's number."""
        self._judge = judge
        code = "import sys; print(':'.join(sys.path[1:]))"
        path = subprocess.run([program, "-I", "-S", "-c", code], check=True, capture_output=True, text=True)
        self._path = path.stdout.strip()
        bootstrap = (_RUNNER / "bootstrap.py").read_text()
        self._argv = [program, "-I", "-S", "-B", "-X", "utf8", "-c", bootstrap]
        packed = _pack.packed(_RUNNER, _ROOT / "src/guest/python/caisson")
        self._code = _memory_file()
        size = os.open("/proc/self/statm", os.O_RDONLY)
        process = self._start("compile", {4: _memory_file(packed), 5: self._code, 6: size})
        if process.wait() != 0:
            raise RuntimeError(f"{program} did not come up")

    def _start(self, step, descriptors):
        def place():
            high = {number: os.dup2(source, number + 100) for number, source in descriptors.items()}
            for number, source in high.items():
                os.dup2(source, number)
                os.close(source)

        return subprocess.Popen(
            [*self._argv, step, self._path], preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL
        )

    def runs(self, requests):
        """The reports of one session."""
        ours, its = socket.socketpair()
        asking, judging = socket.socketpair()
        judge = subprocess.Popen([*self._judge, str(judging.fileno())], pass_fds=[judging.fileno()])
        process = self._start("run", {3: its.fileno(), 4: self._code, _JUDGE: asking.fileno()})
        for end in (its, asking, judging):
            end.close()
        try:
            for i, request in enumerate(requests):
                self._send(ours, _AGAIN if i else _START, values.encode(request))
                yield self._receive(ours)
        finally:
            ours.close()
            process.kill()
            process.wait()
            judge.kill()
            judge.wait()

    @staticmethod
    def _send(channel, kind, request):
        second = 10**9
        limits = (10 * second, 10 * second, 1 << 28, 1 << 16, 1 << 16, 1 << 17, 1 << 22, 1 << 25)
        counts = (100, 64, 1000, 1 << 23, len(request), _KEEP_CELL)
        message = struct.pack("<8Q6IQ32s", *limits, *counts, 0, b"") + request
        for at in range(0, len(message), _MAX_PAYLOAD):
            part = message[at : at + _MAX_PAYLOAD]
            more = at + _MAX_PAYLOAD < len(message)
            channel.sendall(struct.pack("<IHH", len(part), kind, more) + part)

    @staticmethod
    def _receive(channel):
        message = b""
        while True:
            length, kind, more = struct.unpack("<IHH", channel.recv(8, socket.MSG_WAITALL))
            message += channel.recv(length, socket.MSG_WAITALL)
            if not more:
                break
        if kind != _DONE:
            raise RuntimeError(f"a frame of kind {kind}")
        return values.decode(message[48:])
