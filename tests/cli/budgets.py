"""Bytes that runs leave in the store are bounded, per run and per owner, and so are responses."""

import __main__
import http.client
import json

import harness

ANN, BOB = "the-key-of-ann-0123456789", "the-key-of-bob-0123456789"
CONFIG = """
[store]
url = "sqlite:runs.db"
[identity]
mode = "keys"
[[identity.key]]
tenant = "acme"
user = "ann"
value_file = "ann.key"
[[identity.key]]
tenant = "acme"
user = "bob"
value_file = "bob.key"
[[tool]]
name = "count"
kind = "command"
command = ["/usr/bin/wc", "-c"]
approval = "never"
input_schema = { type = "object", properties = { text = { type = "string" } } }
[[tool]]
name = "effect"
kind = "command"
command = ["/bin/true"]
approval = "always"
input_schema = { type = "object" }
"""
CALLS, CALL_BYTES = 6, 6_000_000
CODE = f"for i in range({CALLS}): print(count(text=str(i) * {CALL_BYTES}) > 0)"
MOST_RESPONSE_BYTES = 100_000


class Budgets(harness.CliTest):
    process = None

    def serve(self, more=""):
        self.put("ann.key", ANN)
        self.put("bob.key", BOB)
        self.put("caisson.toml", CONFIG + more)
        self.kept.update(("runs.db", "runs.db.keys", "runs.db-wal", "runs.db-shm"))
        self.process = self.start("serve", "--config", "caisson.toml", "--listen", "127.0.0.1:0",
                                  preexec_fn=harness.without_signals)
        line = self.process.stdout.readline().decode()
        self.assertTrue(line.startswith("listening on http://127.0.0.1:"), (line, self.process.poll()))
        self.port = int(line.rsplit(":", 1)[1])

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=harness.PATIENCE)
        self.process = None

    def tearDown(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        super().tearDown()

    def run_for(self, key, code):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        connection.request("POST", "/v1/runs", json.dumps({"code": code, "limits": {"wall_seconds": 60}}),
                           {"Content-Type": "application/json", "Authorization": "Bearer " + key})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        self.assertLess(len(text), MOST_RESPONSE_BYTES)
        return response.status, json.loads(text)

    def stored_bytes(self):
        return sum(file.stat().st_size for file in self.work.glob("runs.db*"))

    def test_large_arguments_are_stored_once_and_not_answered(self):
        self.serve()
        status, run = self.run_for(ANN, CODE)
        self.assertEqual((status, run["outcome"]["stdout"]), (200, "True\n" * CALLS), run)
        calls = run["outcome"]["calls"]
        self.assertEqual([(call["arguments"], call["arguments_omitted"]) for call in calls], [(None, True)] * CALLS)
        self.stop()
        self.assertGreater(self.stored_bytes(), CALLS * CALL_BYTES)
        self.assertLess(self.stored_bytes(), 1.2 * CALLS * CALL_BYTES)

    def test_a_run_that_fills_its_journal_ends_as_limit(self):
        self.serve("[runs]\nmax_journal_bytes = 20000000\n")
        status, run = self.run_for(ANN, CODE)
        outcome = run["outcome"]
        self.assertEqual((status, outcome["status"], outcome["reason"]), (200, "limit", "tool_calls"), run)
        self.assertEqual(outcome["error"]["type"], "LimitError")
        self.assertIn("runs.max_journal_bytes", outcome["error"]["message"])
        self.assertEqual([call["outcome"] for call in outcome["calls"]], ["returned"] * 3)
        self.stop()
        # The pages of a call that was refused stay in the file, free.
        self.assertLess(self.stored_bytes(), 20_000_000 + 1.2 * CALL_BYTES)

    def test_an_owner_without_room_starts_no_run_and_others_do(self):
        self.serve("[runs]\nmax_stored_bytes = 10000000\n")
        self.assertEqual(self.run_for(ANN, CODE)[0], 200)
        refused = None

        def is_refused():
            nonlocal refused
            status, refused = self.run_for(ANN, "1")
            return status == 429
        self.wait_until(is_refused, "an owner above the limit is refused")  # Counted once a second.
        self.assertIn("runs.max_stored_bytes", refused["detail"])
        self.assertEqual(self.run_for(BOB, "1")[0], 200)


if __name__ == "__main__":
    harness.run_suite(__main__)
