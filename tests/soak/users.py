"""What the users of a soak do: runs with effects, small runs, slow connections, and hogs."""

import http.client
import json
import random
import socket
import threading
import time

import cluster

EFFECTS = """
def attempt(call, id):
    try:
        return call(id=id)
    except Exception as error:
        return type(error).__name__
[attempt(note, "{id}-a"), attempt(gated, "{id}-b"), attempt(note, "{id}-c")]
"""
HOGS = (
    "while True: pass",
    "x = bytearray(200_000_000)\nfor i in range(0, len(x), 4096): x[i] = 1",
    "while True: print('x' * 1000)",
    "import asyncio\nawait asyncio.gather(*[note(id='hog') for _ in range(20)])",
    "x = ['x' * 1_000_000] * 5\nx",
    "x = 'x' * 3_000_000\ny = [None] * 300_000\nwhile True:\n    count(x=x)\n    count(x=y)",
    "import threading\nfor _ in range(12): threading.Thread(target=lambda: [1 for _ in iter(int, 1)]).start()",
)
QUEUED = "import time\ntime.sleep(1)"
EFFECTS_SECONDS = 200  # The time in which a call waits for the store counts. No fault may last this long.
BUSY = (409, 429, 502, 503, 504, 507)  # The client may try again.


class User:
    """One user in a thread of its own. Everything that must hold at the end is in `runs`."""

    def __init__(self, servers, number, seed, stop):
        self.servers, self.number, self.stop = servers, number, stop
        self.random = random.Random(seed)
        self.runs = {}      # Idempotency key: outcome, or None while the run is open.
        self.small = 0
        self.wrong = []
        self.statuses = {}
        self.last = {}
        self.thread = threading.Thread(target=self.work, name=f"user{number}")

    def ask(self, method, path, body=None, more=None):
        """Returns (status, answer). Status 0: no server answered."""
        ports = self.servers.ports()
        if not ports:
            return 0, None
        connection = http.client.HTTPConnection("127.0.0.1", self.random.choice(ports), timeout=30)
        headers = {"Authorization": "Bearer " + cluster.key_of(self.number), "Content-Type": "application/json",
                   **(more or {})}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read()
            self.statuses[response.status] = self.statuses.get(response.status, 0) + 1
            return response.status, json.loads(text) if text else None
        except (OSError, http.client.HTTPException, ValueError):
            return 0, None
        finally:
            connection.close()

    def work(self):
        try:
            while not self.stop.is_set():
                self.act()
                self.stop.wait(self.random.uniform(0.2, 1.5))
        except Exception as error:
            self.wrong.append(f"user {self.number}: {error!r}")

    def act(self):
        if self.number % 10 == 0:
            self.hog()
        elif self.number % 10 == 1:
            self.slow()
        elif self.random.random() < 0.5:
            self.run_small()
        else:
            self.run_effects()

    def run_small(self):
        status, answer = self.ask("POST", "/v1/runs", {"code": "1+1"})
        if status == 200 and (answer["outcome"] or {}).get("status") == "completed":
            self.small += 1
            if answer["outcome"]["result"] != 2:
                self.wrong.append(f"1+1 gave {answer}")
        elif status and status not in (200, 202, *BUSY):
            self.wrong.append(f"1+1 was answered with {status} {answer}")

    def run_effects(self):
        key = f"u{self.number}-{len(self.runs)}"
        self.runs[key] = None
        while not self.finish(key) and not self.stop.wait(0.5):
            pass

    def finish(self, key):
        """Takes the next step of a run with effects. Returns True when the run has ended."""
        status, answer = self.ask("POST", "/v1/runs", {"code": EFFECTS.format(id=key), "wait": False,
                                                       "limits": {"wall_seconds": EFFECTS_SECONDS}},
                                  {"Idempotency-Key": key})
        if status in (0, *BUSY):
            self.last[key] = (status, answer)
            return False
        if status not in (200, 202):
            self.wrong.append(f"run {key} was answered with {status} {answer}")
            self.runs[key] = {"status": "refused"}
            return True
        status, run = self.ask("GET", f"/v1/runs/{answer['id']}")
        self.last[key] = (status, run)
        if status in (404, 403):
            self.wrong.append(f"run {key}, {answer['id']}, is lost: {status} {run}")
            self.runs[key] = {"status": "lost"}
            return True
        if status != 200:
            return False
        if run["state"] == "finished":
            self.runs[key] = run["outcome"]
            return True
        for approval in (run["outcome"] or {}).get("approvals", []):
            self.ask("POST", f"/v1/approvals/{approval['id']}", {"decision": "approve"})
        return False

    def finish_all(self, deadline):
        """Completes what is open when the faults are over."""
        for key in [key for key, outcome in self.runs.items() if outcome is None]:
            while not self.finish(key) and time.monotonic() < deadline:
                time.sleep(0.3)

    def hog(self):
        """Takes as much as it can: with one run, or with many that wait for their turn."""
        limits = {"wall_seconds": 2, "cpu_seconds": 2}
        engine = self.random.choice(("", "import numpy\n"))
        if self.random.random() < 0.8:
            self.ask("POST", "/v1/runs", {"code": engine + self.random.choice(HOGS), "limits": limits})
            return
        for _ in range(200):
            status, _ = self.ask("POST", "/v1/runs", {"code": QUEUED, "limits": limits, "wait": False})
            if status == 429 or self.stop.is_set():
                break

    def slow(self):
        """Sends half a request in small pieces, or reads an answer slowly, and leaves."""
        body = json.dumps({"code": "'x' * 60000"}).encode()
        head = (f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.key_of(self.number)}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        sent = head + body
        if self.random.random() < 0.5:
            sent = sent[:self.random.randrange(1, len(sent))]
        try:
            with socket.create_connection(("127.0.0.1", self.random.choice(self.servers.ports())), 5) as connection:
                for at in range(0, len(sent), 40):
                    connection.sendall(sent[at:at + 40])
                    self.stop.wait(0.05)
                connection.settimeout(2)
                for _ in range(20):
                    if not connection.recv(100):
                        break
                    self.stop.wait(0.05)
        except (OSError, IndexError):
            pass
