"""caisson runs: a server that starts a run is killed, and the run continues wherever it is resumed.
"""

import __main__
import json
import pathlib
import shutil
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


def install(source, target, another_build=False):
    """Copies the worker and its base; optionally as another build: the same program with another
    build id."""
    target.mkdir(parents=True)
    for name in ("caisson-worker", "caisson.base"):
        shutil.copy((source / name).resolve(), target / name)
    if not another_build:
        return
    worker = target / "caisson-worker"
    program = bytearray(worker.read_bytes())
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # Sizes of name and id, the type, the name.
    assert program.count(note) == 1
    program[program.index(note) + len(note)] ^= 1
    worker.write_bytes(program)


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
        # There is no decision, so it cannot continue.
        self.assertEqual(self.caisson("runs", "resume", run["id"], "--config", "caisson.toml").status, 3)
        self.assertEqual(self.caisson("approvals", "approve", first, "--config", "caisson.toml").status, 0)

        def resumed():  # When the dead server's lease is over.
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

    def approve(self, id):
        self.assertEqual(self.ask("POST", f"/v1/approvals/{id}", {"decision": "approve"}).status, 200)

    def next_question(self, run, number):
        """Returns what it waits for after this number of calls."""
        found = {}
        def asked():
            found.update(self.show(run["id"]))
            return found["state"] == "waiting" and len(found["outcome"]["calls"]) == number
        self.wait_until(asked, "it asks again")
        return found["outcome"]["approvals"][0]["id"]

    def expect_end(self, run):
        outcome = self.await_run(run["id"])["outcome"]
        self.assertEqual((outcome["status"], outcome["result"], outcome["stdout"]),
                         ("completed", [2, "sent", "sent"], "1\n2\n"), outcome)
        self.assertEqual(self.effects(), ["one", "two"])
        (self.work / "effects").unlink()

    def test_the_second_half_happens_on_another_replica(self):
        config = '[store]\nurl = "sqlite:caisson.db"\n' + serve.SEND
        first = self.serve(config)
        run = self.run_code(CODE)
        second = self.serve(config)  # From here on this server is used.
        self.approve(run["outcome"]["approvals"][0]["id"])
        question = self.next_question(run, 2)
        self.assertEqual(self.effects(), ["one"])
        first.send_signal(signal.SIGKILL)
        first.wait()
        self.approve(question)
        self.expect_end(run)
        self.stop(second)

    def test_a_run_that_another_replica_holds_is_cancelled(self):
        config = '[store]\nurl = "sqlite:caisson.db"\n' + serve.SEND
        first = self.serve(config)
        run = self.run_code(CODE)
        second = self.serve(config)
        answer = self.ask("POST", f"/v1/runs/{run['id']}/cancel")
        self.assertEqual((answer.status, answer.json["outcome"]["status"]), (200, "cancelled"), answer)
        self.stop(first)
        self.stop(second)
        self.assertEqual(self.effects(), [])

    def test_after_an_upgrade_kept_workers_take_it_up_and_others_replay_it(self):
        installed = harness.INSTALLED
        newest, older = self.top / "newest", self.top / "kept" / "older"
        install(installed, newest)
        install(installed, older, another_build=True)
        broken = self.top / "broken" / "older"
        shutil.copytree(older, broken)
        with open(broken / "caisson-worker", "r+b") as worker:
            worker.truncate(100_000)  # Its build id is still readable.
        store = '[store]\nurl = "sqlite:caisson.db"\n' + serve.SEND
        for keep, same_build in ((None, False), (older.parent, True), (broken.parent, False)):
            with self.subTest(keep=keep):
                process = self.serve(store, worker_dir=older)
                run = self.run_code(CODE)
                saved_by = self.show(run["id"])["saved_build"]
                self.stop(process)
                process = self.serve(store + (f'[worker]\nkeep = "{keep}"\n' if keep else ""), worker_dir=newest)
                self.approve(run["outcome"]["approvals"][0]["id"])
                question = self.next_question(run, 2)
                # The build that resumed it has saved it again.
                self.assertEqual(self.show(run["id"])["saved_build"] == saved_by, same_build)
                self.approve(question)
                self.expect_end(run)
                self.stop(process)

    def test_missing_runs(self):
        config = '[store]\nurl = "sqlite:caisson.db"\n'
        self.stop(self.serve(config))
        for command in ("show", "resume"):
            done = self.caisson("runs", command, "run_none", "--config", "caisson.toml")
            self.assertEqual((done.status, done.err), (2, b"caisson: no such run\n"))
        listed = self.caisson("runs", "list", "--config", "caisson.toml")
        self.assertEqual((listed.status, listed.out), (0, b"no runs\n"))


if __name__ == "__main__":
    harness.run_suite(__main__)
