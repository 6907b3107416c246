"""Run inside a container: what a user does first, in the tier that this container offers.

    python3 inside.py CAISSON TIER MISSING

CAISSON is the program. TIER is the strongest tier that the container must offer; every command is given it by name.
MISSING is "host_name" if boundary.missing must name it there, else empty.
"""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CAISSON, TIER, MISSING = sys.argv[1:4]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 120
# Generous, because other work shares the machine; what is tested here is not speed.
LIMITS = ["--limit", "wall_seconds=100", "--limit", "cpu_seconds=100"]

PANDAS = """
import pandas as pd
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
frame = pd.DataFrame({"a": [1, 2, 3]})
frame.to_csv("/output/frame.csv", index=False)
frame.plot().figure.savefig("/output/frame.png")
pd.read_csv("/output/frame.csv").a.tolist()
"""

THREADS = """
import threading
found = []
threads = [threading.Thread(target=found.append, args=(i,)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sorted(found)
"""

CONFIG = """
[store]
url = "sqlite:caisson.db"
[engine]
tier = "{tier}"
[runs]
park_seconds = 1
[[tool]]
name = "send"
kind = "command"
command = ["./send.py"]
description = "Appends a line to a file"
approval = "always"
input_schema = {{ type = "object", properties = {{ text = {{ type = "string" }} }}, required = ["text"] }}
"""

SEND = """#!/usr/bin/python3.11
import json, sys
with open("effects", "a") as file:
    file.write(json.load(sys.stdin)["text"] + "\\n")
print("null")
"""


class Inside(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.work = pathlib.Path(self.folder.name)

    def caisson(self, *arguments, code=""):
        return subprocess.run([CAISSON, *arguments], input=code.encode(), capture_output=True, timeout=PATIENCE, cwd=self.work)

    def run_code(self, code, *options):
        done = self.caisson("run", "--json", "--tier", TIER, *LIMITS, *options, "-", code=code)
        self.assertTrue(done.stdout, done)
        outcome = json.loads(done.stdout)
        self.assertEqual(outcome["status"], "completed", outcome)
        self.assertEqual(outcome["boundary"]["tier"], TIER)
        return outcome

    def test_a_first_run(self):
        self.assertEqual(self.run_code("1+1")["result"], 2)

    def test_what_is_missing_of_the_walls(self):
        for engine in ("wasm", "native"):
            missing = self.run_code("1", "--engine", engine)["boundary"]["missing"]
            self.assertEqual("host_name" in missing, MISSING == "host_name", (engine, missing))

    def test_make_runs_examples_run_and_the_tier_is_named_if_it_is_weaker(self):
        done = subprocess.run(["tools/first-run", CAISSON], capture_output=True, timeout=PATIENCE, cwd=SOURCE)
        said = done.stdout.decode()
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("exit status 1\n", said)
        if TIER == "namespace":
            self.assertNotIn("tier", said)
        else:
            self.assertIn(f"Uses tier {TIER}, which is weaker: tier namespace is not available here (no user_namespaces", said)
            self.assertIn(f"caisson run --tier {TIER} examples/hello/hello.py", said)

    def test_numpy(self):
        self.assertEqual(self.run_code("import numpy as np; float(np.ones((60, 60)).dot(np.ones((60, 60))).sum())")["result"],
                         216000.0)

    def test_pandas_writes_a_table_and_a_picture(self):
        outcome = self.run_code(PANDAS)
        self.assertEqual(outcome["result"], [1, 2, 3])
        files = {file["path"]: file["size"] for file in outcome["files"]}
        self.assertEqual(files.get("/output/frame.csv"), 8, files)
        self.assertGreater(files.get("/output/frame.png", 0), 1000, files)

    def test_four_threads(self):
        self.assertEqual(self.run_code(THREADS, "--engine", "native", "--policy", "open")["result"], [0, 1, 2, 3])

    def test_a_mounted_directory(self):
        (self.work / "data").mkdir()
        (self.work / "data/note.txt").write_text("from the host")
        for engine in ("wasm", "native"):
            with self.subTest(engine=engine):
                outcome = self.run_code('open("/input/note.txt").read()', "--engine", engine,
                                        "--mount", f"{self.work}/data:/input:ro")
                self.assertEqual(outcome["result"], "from the host")

    def rw_mount(self, engine):
        """Runs code that writes to an rw mount; returns the process and what is in the file then."""
        data = self.work / engine
        data.mkdir()
        (data / "note.txt").write_text("old")
        done = self.caisson("run", "--json", "--tier", TIER, *LIMITS, "--engine", engine, "--mount", f"{data}:/data:rw", "-",
                            code='open("/data/note.txt", "w").write("new")')
        return done, (data / "note.txt").read_text()

    def test_a_directory_that_code_writes_to(self):
        done, text = self.rw_mount("wasm")
        self.assertEqual((done.returncode, text), (0, "new"), done)
        done, text = self.rw_mount("native")
        if TIER == "namespace" and os.getuid() != 0:
            self.assertEqual((done.returncode, text), (0, "new"), done)
        else:
            # Refused before anything runs, with the reason and what to do instead.
            why = b"cannot write to a directory of user 0" if TIER == "namespace" else b"need tier namespace"
            self.assertEqual((done.stdout, text), (b"", "old"), done)
            self.assertNotEqual(done.returncode, 0, done)
            self.assertIn(why, done.stderr)
            self.assertIn(b"engine wasm", done.stderr)

    def test_a_call_over_mcp(self):
        messages = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize",
             "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
             "params": {"name": "execute_code", "arguments": {"code": "6*7"}}}]
        process = subprocess.Popen([CAISSON, "mcp", "--tier", TIER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.work)
        self.addCleanup(process.stdout.close)
        for message in messages:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        answers = {}
        while 2 not in answers:
            line = process.stdout.readline()
            self.assertTrue(line, "the server closed its output")
            answer = json.loads(line)
            answers[answer.get("id")] = answer
        process.stdin.close()
        process.wait(PATIENCE)
        self.assertIn("42", json.dumps(answers[2]["result"]))

    def serve(self):
        process = subprocess.Popen([CAISSON, "serve", "--config", "caisson.toml", "--listen", "127.0.0.1:0"],
                                   stdout=subprocess.PIPE, cwd=self.work)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        line = process.stdout.readline().decode()
        self.assertIn("listening on", line)
        return process, int(line.rsplit(":", 1)[1])

    def ask(self, port, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            self.assertLess(time.monotonic(), end, "waited too long")
            time.sleep(0.05)
        return found

    def test_an_approval_through_a_restart(self):
        (self.work / "caisson.toml").write_text(CONFIG.format(tier=TIER))
        (self.work / "send.py").write_text(SEND)
        (self.work / "send.py").chmod(0o755)
        process, port = self.serve()
        run = self.ask(port, "POST", "/v1/runs", {"code": "send(text='hello'); 'sent'"})
        self.assertEqual(run["state"], "waiting", run)
        approval = run["outcome"]["approvals"][0]["id"]
        self.wait_for(lambda: self.ask(port, "GET", f"/v1/runs/{run['id']}").get("saved_bytes"))
        process.send_signal(signal.SIGKILL)
        process.wait()

        process, port = self.serve()
        self.ask(port, "POST", f"/v1/approvals/{approval}", {"decision": "approve"})
        ended = self.wait_for(lambda: (now := self.ask(port, "GET", f"/v1/runs/{run['id']}"))["state"] == "finished" and now)
        self.assertEqual(ended["outcome"]["result"], "sent", ended)
        self.assertEqual((self.work / "effects").read_text(), "hello\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_doctor_says_what_is_true_here(self):
        report = json.loads(self.caisson("doctor", "--json").stdout)
        self.assertEqual(report["best_tier"], TIER, report)
        for tier in report["tiers"]:
            done = self.caisson("run", "--tier", tier["tier"], "-", code="1+1")
            self.assertEqual(tier["available"], done.returncode == 0, (tier, done))
        for engine in report["engines"]:  # What it reports of them is about the best tier.
            done = self.caisson("run", "--tier", TIER, "--engine", engine["name"], "-", code="1+1")
            self.assertEqual(engine["available"], done.returncode == 0, (engine, done))
        for advice in ("seccomp=", "hostUsers: false", "procMount", "--tier landlock", "[engine]"):
            self.assertEqual(any(advice in line for line in report["advice"]), TIER != "namespace", (advice, report["advice"]))

    def test_nothing_is_left_behind(self):
        def left():
            """Living processes of ours. The first process of this container is this test, which reaps no orphans."""
            stats = [pathlib.Path(f"/proc/{p}/stat").read_text() for p in os.listdir("/proc") if p.isdigit()]
            return [stat for stat in stats if "(caisson" in stat and stat.rsplit(")", 1)[1].split()[0] != "Z"]
        self.run_code("import numpy as np; open('/tmp/x', 'w').write('x')", "--engine", "native", "--policy", "open")
        self.wait_for(lambda: not left())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
