#!/usr/bin/env python3
"""Measures the cost of many runs that wait for a person, saved in the store of a real `caisson
serve`.

waiting_runs.py PROGRAM [COUNT]      prints {"waiting.store_bytes": ..., "waiting.memory_bytes":
...}, all runs together

Memory is the proportional share of the server and its workers, minus its value after the first run
was saved."""

import concurrent.futures
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import time

CONFIG = """
[store]
url = "sqlite:caisson.db"
[[tool]]
name = "send"
kind = "command"
command = ["/bin/false"]
approval = "always"
input_schema = { type = "object", properties = { to = { type = "string" } }, required = ["to"] }
"""
# Some state, as runs have that stop half-way.
CODE = "rows = [{'id': n, 'name': f'customer {n}'} for n in range(100)]\nsend(to='ann')\nlen(rows)"
CLIENTS = 8
CALM = 75  # Seconds: after sixty, a waiting run is only in the store.


def memory_bytes(pid):
    """Memory of the process and its children; shared pages are divided among the processes that map
    them."""
    total = 0
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    children = {child for task in tasks for child in (task / "children").read_text().split()}
    for each in {str(pid)} | children:
        for line in pathlib.Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def start_runs(port, count):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for _ in range(count):
        connection.request("POST", "/v1/runs", json.dumps({"code": CODE}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 202:
            raise RuntimeError(f"the run does not wait: {answer.status} {body[:300]}")
    connection.close()


def measure(program, count):
    with tempfile.TemporaryDirectory(prefix="caisson-waiting-") as name:
        work = pathlib.Path(name)
        (work / "caisson.toml").write_text(CONFIG)
        server = subprocess.Popen([program, "serve", "--config", "caisson.toml", "--listen", "127.0.0.1:0"],
                                  cwd=work, stdout=subprocess.PIPE, text=True)
        try:
            port = int(server.stdout.readline().rsplit(":", 1)[1])
            start_runs(port, 1)
            time.sleep(CALM)
            idle = memory_bytes(server.pid)
            with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
                each = (count - 1) // CLIENTS
                counts = [each] * (CLIENTS - 1) + [count - 1 - each * (CLIENTS - 1)]
                for done in [pool.submit(start_runs, port, part) for part in counts]:
                    done.result()
            time.sleep(CALM)
            memory = memory_bytes(server.pid) - idle
        finally:
            server.terminate()
            server.wait()
        store = sum(path.stat().st_size for path in work.glob("caisson.db*"))
    only = lambda value: {"median": value, "p99": value, "n": count}
    return {"waiting.store_bytes": only(store), "waiting.memory_bytes": only(max(memory, 0))}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)))
