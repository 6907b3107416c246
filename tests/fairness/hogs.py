"""What a user does who wants everything for themselves: one function for each kind of hog.

    hogs.py PORT KEY NAME       goes on until it is killed; prints a line when it has begun
"""

import http.client
import json
import socket
import sys
import threading
import time

import collisions

LIMITS = {"wall_seconds": 60, "cpu_seconds": 60}
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
    block = bytearray(200_000_000)
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
y = [None] * 500_000
while True:
    await asyncio.gather(echo(x=x), echo(x=y))
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
    echo(x=dict.fromkeys(keys, 1))
"""


class Hog:
    def __init__(self, port, key):
        self.port, self.key = port, key

    def head(self, body, more=""):
        return (f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.key}\r\n"
                f"Content-Type: application/json\r\n{more}Content-Length: {len(body)}\r\n\r\n").encode()

    def post(self, body, connection=None):
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        connection.request("POST", "/v1/runs", body, {"Authorization": "Bearer " + self.key,
                                                      "Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        return response

    def again_and_again(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        while True:
            try:
                response = self.post(body, connection)
                if response.status == 429:
                    time.sleep(float(response.headers["Retry-After"]))
            except (OSError, http.client.HTTPException):
                connection.close()
                time.sleep(0.05)

    def side_by_side(self, count, body):
        for _ in range(count):
            threading.Thread(target=self.again_and_again, args=(body,), daemon=True).start()

    def run_code(self, code, count=4, **limits):
        self.side_by_side(count, json.dumps({"code": code, "limits": {**LIMITS, **limits}}))

    def compute(self):
        self.run_code("while True: pass")

    def host_functions(self):
        self.run_code(HOST_FUNCTIONS)

    def memory(self):
        self.run_code(MEMORY)

    def output(self):
        self.run_code(OUTPUT, stdout_bytes=16 << 20)

    def calls(self):
        self.run_code(CALLS, count=2)

    def large_arguments(self):
        self.run_code(LARGE_ARGUMENTS, count=2)

    def colliding_keys(self):
        halves = collisions.halves()
        self.run_code(COLLIDING_KEYS.format(halves=halves), count=1)
        keys = [halves[number >> bit & 1] for number in range(1 << 12) for bit in range(12)]
        texts = ["".join(keys[at:at + 12]) for at in range(0, len(keys), 12)]
        self.side_by_side(1, json.dumps({"code": "1", "limits": dict.fromkeys(texts, 1)}))

    def many_runs(self):
        body = json.dumps({"code": "import time; time.sleep(50)", "limits": LIMITS, "wait": False})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        while self.post(body, connection).status != 429:
            pass
        self.side_by_side(2, body)

    def slow_readers(self):
        body = json.dumps({"code": OUTPUT, "limits": {**LIMITS, "stdout_bytes": 16 << 20}})
        request = self.head(body, "Accept: text/event-stream\r\n") + body.encode()
        self.unread = []
        for _ in range(20):
            reader = socket.socket()
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(("127.0.0.1", self.port))
            reader.sendall(request)
            self.unread.append(reader)

    def threads(self):
        self.run_code(THREADS)


NAMES = ("compute", "host_functions", "memory", "output", "calls", "large_arguments", "colliding_keys", "many_runs",
         "slow_readers", "threads")

if __name__ == "__main__":
    getattr(Hog(int(sys.argv[1]), sys.argv[2]), sys.argv[3])()
    print("begun", flush=True)
    time.sleep(1000)
