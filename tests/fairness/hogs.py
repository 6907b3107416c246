"""Users who take everything for themselves: one function for each kind of hog.

    hogs.py PORT KEY ENGINE NAME

Runs until it is killed. Prints a line when the first run has ended as the hog expects. A run that
ends in another way, for example because the policy refuses it, hogs nothing: the program then ends
with status 1 and prints the answer on stderr."""

import http.client
import json
import os
import re
import socket
import sys
import threading
import time

import collisions

LIMITS = {"wall_seconds": 1, "cpu_seconds": 60}
META = "io.modelcontextprotocol/"
OUT_OF_TIME = "limit wall_time"
RETURNED = "completed returned"
HOST_FUNCTIONS = """
import os
from collections import deque
from itertools import repeat, starmap
with open("/tmp/x", "wb") as file:
    file.write(bytes(1 << 20))
fd = os.open("/tmp/x", os.O_RDONLY)
deque(starmap(os.preadv, repeat((fd, [bytearray(1 << 20)], 0))), maxlen=0)
"""
MEMORY = """
while True:
    block = None
    block = bytearray(150_000_000)
    for at in range(0, len(block), 4096):
        block[at] = 1
"""
OUTPUT = """
while True:
    print("x" * 1000)
"""
CALLS = """
import asyncio
await asyncio.gather(*(echo(x=i) for i in range(1000)))
"""
LARGE_ARGUMENTS = """
import asyncio
x = "x" * 3_000_000
y = [None] * 300_000
while True:
    await asyncio.gather(count(x=x), count(x=y))
"""
ANSWERS = """
import asyncio
answers = [asyncio.ensure_future(large()) for _ in range(1000)]
await asyncio.sleep(0.1)
while True:
    pass
"""
LARGE_OUTCOME = """
print(chr(1) * 4_000_000)
[None] * 300_000
"""
LARGE_FILE = """
import pathlib
pathlib.Path("/output/large").write_bytes(bytes(5_000_000))
"""
LARGE_FILES = """
import pathlib
for i in range(5):
    pathlib.Path(f"/output/{i}").write_bytes(bytes(5_000_000))
"""
THREADS = """
import threading
def spin():
    while True:
        pass
for _ in range(12):
    threading.Thread(target=spin).start()
spin()
"""
COLLIDING_KEYS = """
import itertools
one, other = {halves!r}
keys = ["".join(parts) for parts in itertools.product((one, other), repeat=13)]
while True:
    count(x=dict.fromkeys(keys, 1))
"""


def how_it_ended(answer):
    """Reads a large answer without parsing it: the hogs would otherwise use the processors for that, which they have
    elsewhere if they are on another machine. No hog prints such a text itself."""
    outcome = answer[:20_000].partition(b'"outcome":')[2]
    found = [re.search(b'"%s":"([a-z_]*)"' % name, outcome) for name in (b"status", b"reason")]
    return " ".join(field.group(1).decode() for field in found if field)


def run_id(answer):
    return re.search(rb'"id":"(run_[a-z0-9]+)"', answer).group(1).decode()


class Hog:
    def __init__(self, port, key, engine):
        self.port, self.key, self.engine = port, key, engine
        self.begun = threading.Event()

    def head(self, body, more=""):
        return (f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.key}\r\n"
                f"Content-Type: application/json\r\n{more}Content-Length: {len(body)}\r\n\r\n").encode()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)

    def post(self, body, connection):
        connection.request("POST", "/v1/runs", body, {"Authorization": "Bearer " + self.key,
                                                      "Content-Type": "application/json"})
        response = connection.getresponse()
        return response, response.read()

    def check(self, response, answer, expected):
        """Ends this program if the run did not do what the hog needs."""
        ending = how_it_ended(answer) if response.status == 200 else str(response.status)
        if ending not in expected.split(" or "):
            print(f"expected {expected}, got {ending}: {answer[:500]!r}", file=sys.stderr, flush=True)
            os._exit(1)
        self.begun.set()

    def again_and_again(self, body, expected):
        connection = self.connect()
        while True:
            try:
                response, answer = self.post(body, connection)
            except (OSError, http.client.HTTPException):
                connection.close()
                time.sleep(0.05)
                continue
            if response.status == 429:
                time.sleep(float(response.headers["Retry-After"]))
            else:
                self.check(response, answer, expected)

    def side_by_side(self, count, body, expected):
        for _ in range(count):
            threading.Thread(target=self.again_and_again, args=(body, expected), daemon=True).start()

    def run_code(self, code, expected=OUT_OF_TIME, count=4, **limits):
        self.side_by_side(count, json.dumps({"code": code, "limits": {**LIMITS, **limits}}), expected)

    def compute(self):
        self.run_code("while True: pass")

    def host_functions(self):
        self.run_code(HOST_FUNCTIONS)

    def memory(self):
        self.run_code(MEMORY)

    def output(self):
        self.run_code(OUTPUT, stdout_bytes=16 << 20)

    def calls(self):
        self.run_code(CALLS, RETURNED, count=2, wall_seconds=60)

    def large_arguments(self):
        self.run_code(LARGE_ARGUMENTS, count=2, memory_bytes=512 << 20)

    def answers(self):
        """Many large ones, which the code does not read."""
        self.run_code(ANSWERS, OUT_OF_TIME + " or limit memory", count=2, wall_seconds=3)

    def mcp_output(self):
        """Large outcomes over MCP, where each is text and an object."""
        meta = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}
        params = {"name": "execute_code", "arguments": {"code": LARGE_OUTCOME}, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {"Authorization": "Bearer " + self.key, "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
                   "Mcp-Method": "tools/call", "Mcp-Name": "execute_code"}

        def call():
            connection = self.connect()
            while True:
                connection.request("POST", "/mcp", body, headers)
                answer = connection.getresponse().read()
                if len(answer) < 10_000_000:
                    print(f"expected a large answer, got {answer[:500]!r}", file=sys.stderr, flush=True)
                    os._exit(1)
                self.begun.set()
        for _ in range(2):
            threading.Thread(target=call, daemon=True).start()

    def list_runs(self):
        """The list of runs whose outcomes are large."""
        body = json.dumps({"code": LARGE_OUTCOME})
        connection = self.connect()
        for _ in range(20):
            self.check(*self.post(body, connection), RETURNED)

        def ask():
            connection = self.connect()
            while True:
                connection.request("GET", "/v1/runs?limit=500", headers={"Authorization": "Bearer " + self.key})
                response = connection.getresponse()
                if response.status != 200 or response.read().count(b'"id":"run_') < 20:
                    print(f"the list was refused: {response.status}", file=sys.stderr, flush=True)
                    os._exit(1)
        for _ in range(2):
            threading.Thread(target=ask, daemon=True).start()

    def get_again_and_again(self, path, least_bytes, count=2):
        def get():
            connection = self.connect()
            while True:
                connection.request("GET", path, headers={"Authorization": "Bearer " + self.key})
                response = connection.getresponse()
                if response.status != 200 or len(response.read()) < least_bytes:
                    print(f"{path} was refused: {response.status}", file=sys.stderr, flush=True)
                    os._exit(1)
                self.begun.set()
        for _ in range(count):
            threading.Thread(target=get, daemon=True).start()

    def read_outcome(self):
        """One large outcome, read from the store again and again."""
        answer = self.post(json.dumps({"code": LARGE_OUTCOME}), self.connect())[1]
        self.get_again_and_again("/v1/runs/" + run_id(answer), 10_000_000)

    def read_files(self):
        """A large file that a run has left, in the same way."""
        answer = self.post(json.dumps({"code": LARGE_FILE}), self.connect())[1]
        self.get_again_and_again("/v1/runs/" + run_id(answer) + "/files/0", 5_000_000)

    def write_files(self):
        self.run_code(LARGE_FILES, RETURNED, count=2)

    def colliding_keys(self):
        halves = collisions.halves()
        self.run_code(COLLIDING_KEYS.format(halves=halves), count=1)
        keys = [halves[number >> bit & 1] for number in range(1 << 12) for bit in range(12)]
        texts = ["".join(keys[at:at + 12]) for at in range(0, len(keys), 12)]
        self.side_by_side(1, json.dumps({"code": "1", "limits": dict.fromkeys(texts, 1)}), "400")

    def many_runs(self):
        limits = {"wall_seconds": 60, "cpu_seconds": 60}
        body = json.dumps({"code": "import time; time.sleep(50)", "limits": limits, "wait": False})
        connection = self.connect()
        while self.post(body, connection)[0].status != 429:
            pass
        self.begun.set()
        self.side_by_side(2, body, "202")

    def short_runs(self):
        """Each costs a cell: as many as can be asked for."""
        self.run_code("1", RETURNED, count=8)

    def slow_readers(self):
        body = json.dumps({"code": OUTPUT, "limits": {**LIMITS, "wall_seconds": 60, "stdout_bytes": 16 << 20}})
        request = self.head(body, "Accept: text/event-stream\r\n") + body.encode()
        self.unread = []
        for _ in range(20):
            reader = socket.socket()
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(("127.0.0.1", self.port))
            reader.sendall(request)
            self.unread.append(reader)
        if not self.unread[0].recv(1000).startswith(b"HTTP/1.1 200"):
            sys.exit("the stream was refused")
        self.begun.set()

    def threads(self):
        # wasm has no threads: each run fails at once.
        self.run_code(THREADS, OUT_OF_TIME if self.engine == "native" else "failed raised")


NAMES = ("compute", "host_functions", "memory", "output", "mcp_output", "calls", "large_arguments", "answers",
         "colliding_keys", "many_runs", "short_runs", "list_runs", "read_outcome", "read_files", "write_files", "slow_readers",
         "threads")

if __name__ == "__main__":
    port, key, engine, name = sys.argv[1:]
    hog = Hog(int(port), key, engine)
    getattr(hog, name)()
    hog.begun.wait()
    print("begun", flush=True)
    time.sleep(1000)
