"""Replicas that are killed or stopped while they work: nothing is lost, and nothing happens twice.
"""

import __main__
import collections
import concurrent.futures
import http.client
import json
import pathlib
import signal
import subprocess
import time

import harness
import serve

# Calls of one run that tools execute at the same time (ToolBridgeOptions::side_by_side).
SLOTS = 32
LEASE = "[runs]\nlease_seconds = 1\n"
# `free` and `held` need no approval, `gated` does. Each call writes a line. `held` continues when
# the file "go" exists.
TOOLS = "".join(f"""
[[tool]]
name = "{name}"
kind = "command"
command = ["./{program}"]
approval = "{approval}"
input_schema = {{ type = "object", properties = {{ id = {{ type = "string" }} }}, required = ["id"] }}
""" for name, program, approval in (("free", "free.sh", "never"), ("held", "held.sh", "never"),
                                    ("gated", "free.sh", "always")))
NOTE = "#!/bin/sh\nread line\necho \"$line\" >> effects\n"
GATHER = """
import asyncio
async def call(i):
    try:
        return await held(id=str(i))
    except Exception as error:
        return "in doubt"
await asyncio.gather(*[call(i) for i in range(40)])
"""


class Postgres:
    """A real server. Stop it before the test checks for processes that are left."""

    def __init__(self):
        script = pathlib.Path(__file__).parents[1] / "store" / "postgres_server.sh"
        self.process = subprocess.Popen([script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        directory = self.process.stdout.readline().decode().strip()
        self.url = f"postgres://caisson@/postgres?host={directory}"

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Replicas(serve.Serve):
    def setUp(self):
        super().setUp()
        for name, end in (("free.sh", "echo 1\n"), ("held.sh", "until [ -e go ]; do sleep 0.05; done\necho 1\n")):
            self.put(name, NOTE + end)
            (self.work / name).chmod(0o755)
        self.kept |= {"effects", "go", "caisson.keys", "caisson.db", "caisson.db.keys", "caisson.db-wal",
                      "caisson.db-shm"}

    def serve_on(self, url, more=LEASE):
        """Starts a replica and returns the port it listens on."""
        process = self.serve(f'[store]\nurl = "{url}"\n' + more + TOOLS)
        return process, self.port

    def at(self, port, *arguments, **options):
        self.port = port
        return self.ask(*arguments, **options)

    def effects(self):
        path = self.work / "effects"
        lines = path.read_text().splitlines() if path.exists() else []
        return collections.Counter(json.loads(line)["id"] for line in lines)

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()

    def await_end(self, port, id):
        self.port = port
        return self.await_run(id)["outcome"]

    def try_post(self, port, body, key):
        """Returns the answer, or None if the server died first."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.PATIENCE)
        try:
            connection.request("POST", "/v1/runs", json.dumps(body),
                               {"Content-Type": "application/json", "Idempotency-Key": key})
            return serve.Answer(connection.getresponse())
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


class Paused(Replicas):
    """A replica is stopped for longer than its lease, and continues after another has taken its
    runs."""

    def setUp(self):
        super().setUp()
        self.postgres = Postgres()
        self.first, self.first_port = self.serve_on(self.postgres.url)
        self.second, self.second_port = self.serve_on(self.postgres.url)

    def tearDown(self):
        for process in (self.first, self.second):
            self.discard(process)
        self.postgres.stop()
        super().tearDown()

    def test_started_calls_are_uncertain_and_the_other_replica_begins_the_rest(self):
        run = self.at(self.first_port, "POST", "/v1/runs", {"code": GATHER, "wait": False}).json
        self.wait_until(lambda: len(self.effects()) == SLOTS, "every slot is taken")
        before = set(self.effects())
        self.first.send_signal(signal.SIGSTOP)
        self.wait_until(lambda: len(self.effects()) == 40, "the other one begins what had not begun")
        (self.work / "go").touch()
        outcome = self.await_end(self.second_port, run["id"])
        self.first.send_signal(signal.SIGCONT)
        # The tools of the first have ended meanwhile and its slots are free: it could start the
        # rest now.
        self.assertEqual(self.await_end(self.first_port, run["id"]), outcome)
        self.stop(self.first)
        self.stop(self.second)
        self.assertEqual(outcome["status"], "completed", outcome)
        for call in outcome["calls"]:
            started = call["arguments"]["id"] in before
            self.assertEqual(call["outcome"], "uncertain" if started else "returned", call)
        self.assertEqual(collections.Counter(map(str, outcome["result"])),
                         {"in doubt": SLOTS, "1": 40 - SLOTS})
        self.assertEqual(set(self.effects().values()), {1}, "something happened twice")

    def test_an_approved_call_is_done_once_by_the_one_that_holds_the_run(self):
        run = self.at(self.first_port, "POST", "/v1/runs", {"code": "gated(id='a')\ngated(id='b')"}).json
        self.first.send_signal(signal.SIGSTOP)
        approval = run["outcome"]["approvals"][0]["id"]
        decided = self.at(self.second_port, "POST", f"/v1/approvals/{approval}", {"decision": "approve"})
        self.assertEqual(decided.status, 200, decided)
        self.wait_until(lambda: self.effects()["a"] == 1, "the other one goes on")
        self.first.send_signal(signal.SIGCONT)

        def asked():
            outcome = self.at(self.first_port, "GET", f"/v1/runs/{run['id']}").json["outcome"] or {}
            return [each["id"] for each in outcome.get("approvals", []) if each["id"] != approval]
        self.wait_until(asked, "the first one sees what the other has")
        decided = self.at(self.first_port, "POST", f"/v1/approvals/{asked()[0]}", {"decision": "approve"})
        self.assertEqual(decided.status, 200, decided)
        self.assertEqual(self.await_end(self.first_port, run["id"])["status"], "completed")
        self.stop(self.first)
        self.stop(self.second)
        self.assertEqual(self.effects(), {"a": 1, "b": 1})


class Killed(Replicas):
    def test_a_killed_replicas_run_goes_on_after_about_a_lease(self):
        first, port = self.serve_on("sqlite:caisson.db")
        run = self.at(port, "POST", "/v1/runs", {"code": GATHER, "wait": False}).json
        second, second_port = self.serve_on("sqlite:caisson.db")
        self.wait_until(lambda: len(self.effects()) == SLOTS, "every slot is taken")
        (self.work / "go").touch()
        self.kill(first)
        killed = time.monotonic()
        outcome = self.await_end(second_port, run["id"])
        took = time.monotonic() - killed
        self.assertEqual(outcome["status"], "completed", outcome)
        self.assertEqual(set(self.effects().values()), {1})
        self.assertEqual(len(self.effects()), 40)
        self.assertLess(took, 8 * harness.SLOWDOWN)
        self.stop(second)

    def test_a_key_finds_its_run_however_its_server_died(self):
        requests = 48
        bodies = [{"code": f"free(id='{i}')", "wait": i % 2 == 0} for i in range(requests)]
        first, port = self.serve_on("sqlite:caisson.db")
        with concurrent.futures.ThreadPoolExecutor(requests) as pool:
            posted = [pool.submit(self.try_post, port, body, f"key-{i}") for i, body in enumerate(bodies)]
            self.wait_until(lambda: len(self.effects()) >= 4, "some are under way")
            self.kill(first)
            told = [answer.result() for answer in posted]
        second, port = self.serve_on("sqlite:caisson.db")
        with concurrent.futures.ThreadPoolExecutor(requests) as pool:
            again = list(pool.map(lambda i: self.try_post(port, bodies[i], f"key-{i}"), range(requests)))
        for i, answer in enumerate(again):
            self.assertIn(answer.status, (200, 202), answer)
            if told[i] is not None:
                self.assertEqual(answer.json["id"], told[i].json["id"])
            outcome = self.await_end(port, answer.json["id"])
            self.assertEqual(outcome["calls"][0]["arguments"], {"id": str(i)})
            if outcome["calls"][0]["outcome"] == "returned":
                self.assertEqual(self.effects()[str(i)], 1)
        self.assertEqual(len({answer.json["id"] for answer in again}), requests)
        self.assertEqual(len(self.at(port, "GET", "/v1/runs?limit=100").json["items"]), requests)
        self.assertEqual({each for each in self.effects().values() if each > 1}, set(), "something happened twice")
        self.stop(second)

    def test_one_request_sent_to_two_replicas_at_once_starts_one_run(self):
        first, port = self.serve_on("sqlite:caisson.db")
        second, second_port = self.serve_on("sqlite:caisson.db")
        for code, status in (("free(id='{}')", 200), ("gated(id='{}')", 202)):
            with concurrent.futures.ThreadPoolExecutor(64) as pool:
                answers = [(i, pool.submit(self.try_post, where, {"code": code.format(i)}, f"{status} {i}"))
                           for i in range(8) for where in (port, second_port) * 4]
            found = collections.defaultdict(set)
            for i, answer in answers:  # Each of them is told that the run waits, or how it ended.
                self.assertEqual(answer.result().status, status, answer.result())
                found[i].add(answer.result().json["id"])
            self.assertEqual([len(ids) for ids in found.values()], [1] * 8)
        self.assertEqual(self.effects(), {str(i): 1 for i in range(8)})
        self.stop(first)
        self.stop(second)


if __name__ == "__main__":
    harness.run_suite(__main__)
