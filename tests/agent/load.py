"""Conversations stream side by side for a while, each turn with code. No request fails, and the server then holds what it
held before: descriptors, processes and memory return to within a tenth.

    load.py PROGRAM [--seconds 60] [--conversations 64]
"""

import argparse
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import agents  # noqa: E402
import tier  # noqa: E402

TURNS = 3           # Of one conversation.
SETTLING = 60       # Seconds until the server must hold what it held before.
MARGIN = 1.1
CONFIG = """
[store]
url = "sqlite:caisson.db"
[retention]
runs_days = 0.00002
responses_days = 0.00002
""" + agents.DEMO_MODEL + agents.agent("coder")


def tree(root):
    """Returns the process and all its descendants."""
    children = collections.defaultdict(list)
    for path in pathlib.Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                children[int(fields[1])].append(int(path.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    found, queue = [], [root]
    while queue:
        found.append(queue.pop())
        queue += children[found[-1]]
    return found


def private_bytes(pid):
    """Returns the memory that no other process shares."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("Private_Dirty", "Swap:")))


def held(pid):
    processes = tree(pid)
    return {"descriptors": len(os.listdir(f"/proc/{pid}/fd")), "processes": len(processes),
            "memory": sum(map(private_bytes, processes))}


class Load:
    def __init__(self, port):
        self.port = port
        self.lock = threading.Lock()
        self.turns = 0
        self.wrong = []

    def converse(self, number, until):
        client = agents.Client(self.port)
        try:
            while time.monotonic() < until and not self.wrong:
                previous = None
                for turn in range(TURNS):
                    value = number * 1000 + turn
                    more = {"previous_response_id": previous} if previous else {}
                    text, response = client.stream("coder", f"```python\nprint({value} + 1)\n```", **more)
                    if response["status"] != "completed" or str(value + 1) not in text:
                        raise AssertionError(f"{value} + 1 gave {text!r}: {json.dumps(response)[:1000]}")
                    previous = response["id"]
                    with self.lock:
                        self.turns += 1
        except Exception as error:
            with self.lock:
                self.wrong.append(f"conversation {number}: {error!r}")
        finally:
            client.close()

    def run(self, conversations, seconds):
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self.converse, args=(number, until)) for number in range(conversations)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def settle(pid, before):
    """Returns what the server holds as soon as it is within the margin, or at the end of the patience."""
    until = time.monotonic() + SETTLING
    while True:
        now = held(pid)
        if all(now[what] <= before[what] * MARGIN for what in before) or time.monotonic() > until:
            return now
        time.sleep(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--conversations", type=int, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caisson-load-") as directory:
        (pathlib.Path(directory) / "caisson.toml").write_text(CONFIG)
        server = subprocess.Popen([tier.program(options.program), "serve", "--config", "caisson.toml", "--listen", "127.0.0.1:0"],
                                  cwd=directory, stdout=subprocess.PIPE, text=True)
        try:
            load = Load(int(server.stdout.readline().rsplit(":", 1)[1]))
            # Everything that is made on first use exists after this.
            load.run(options.conversations, min(20, options.seconds / 3))
            time.sleep(3)
            before, load.turns = held(server.pid), 0
            load.run(options.conversations, options.seconds)
            after = settle(server.pid, before)
            server.send_signal(signal.SIGTERM)
            status = server.wait(60)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
    print(f"{load.turns} turns in {options.seconds:.0f} s by {options.conversations} conversations")
    wrong = load.wrong[:10]
    for what, value in before.items():
        print(f"{what}: {value} before, {after[what]} after")
        if after[what] > value * MARGIN:
            wrong.append(f"{what} grew from {value} to {after[what]}")
    if status != 0:
        wrong.append(f"the server ended with {status}")
    for line in wrong:
        print("WRONG: " + line)
    return 1 if wrong or load.turns == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
