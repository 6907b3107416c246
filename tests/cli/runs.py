"""caisson runs: a run is started by a server that is killed, and goes on wherever somebody lets it."""

import __main__
import json
import signal

import harness
import serve

CODE = """
n = 0
def line():
    global n
    n += 1
    print(n)
line()
a = send(to="one")
line()
b = send(to="two")
[n, a, b]
"""


class Runs(serve.Serve):
    def setUp(self):
        super().setUp()
        self.put("send.sh", "#!/bin/sh\ncat >> effects\necho >> effects\necho '\"sent\"'\n")
        (self.work / "send.sh").chmod(0o755)
        self.kept |= {"effects", "caisson.db", "caisson.db.keys", "caisson.db-wal", "caisson.db-shm"}

    def show(self, id):
        done = self.caisson("runs", "show", id, "--json", "--config", "caisson.toml")
        self.assertEqual(done.status, 0, done)
        return json.loads(done.out)

    def effects(self):
        path = self.work / "effects"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line)["to"] for line in lines if line]

    def test_a_killed_servers_run_goes_on_by_hand_and_in_another_server(self):
        config = '[store]\nurl = "sqlite:caisson.db"\n' + serve.SEND
        process = self.serve(config)
        run = self.run_code(CODE)
        self.assertEqual(run["state"], "waiting")
        first = run["outcome"]["approvals"][0]["id"]
        process.send_signal(signal.SIGKILL)
        process.wait()

        listed = self.caisson("runs", "list", "--waiting", "--config", "caisson.toml")
        self.assertIn(run["id"].encode(), listed.out)
        # Nobody has decided: there is nothing to go on with.
        self.assertEqual(self.caisson("runs", "resume", run["id"], "--config", "caisson.toml").status, 3)
        self.assertEqual(self.caisson("approvals", "approve", first, "--config", "caisson.toml").status, 0)

        def resumed():  # Once the dead server's lease is over.
            self.caisson("runs", "resume", run["id"], "--config", "caisson.toml")
            return self.effects() == ["one"]
        self.wait_until(resumed, "the lease is over")
        shown = self.show(run["id"])
        self.assertEqual((shown["state"], len(shown["outcome"]["calls"])), ("waiting", 2))
        second = shown["outcome"]["approvals"][0]["id"]

        process = self.serve(config)
        self.assertEqual(self.ask("POST", f"/v1/approvals/{second}", {"decision": "approve"}).status, 200)
        outcome = self.await_run(run["id"])["outcome"]
        self.assertEqual((outcome["status"], outcome["result"], outcome["stdout"]),
                         ("completed", [2, "sent", "sent"], "1\n2\n"))
        self.assertEqual(self.effects(), ["one", "two"])
        self.stop(process)

    def test_what_is_not_there(self):
        config = '[store]\nurl = "sqlite:caisson.db"\n'
        self.stop(self.serve(config))
        for command in ("show", "resume"):
            done = self.caisson("runs", command, "run_none", "--config", "caisson.toml")
            self.assertEqual((done.status, done.err), (2, b"caisson: no such run\n"))
        listed = self.caisson("runs", "list", "--config", "caisson.toml")
        self.assertEqual((listed.status, listed.out), (0, b"no runs\n"))


if __name__ == "__main__":
    harness.run_suite(__main__)
