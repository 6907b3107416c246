"""Decisions, grants, keys and the audit log between a server, its successors and the command line."""

import __main__
import json
import os

import harness
import serve


class Decisions(serve.ServeSend):
    def test_decisions_on_the_command_line_reach_the_server(self):
        process = self.serve(serve.SEND + '[audit]\nfile = "audit.jsonl"\n')
        self.kept.add("audit.jsonl")
        caisson = lambda *arguments: self.caisson(*arguments, "--config", "caisson.toml")
        pending = lambda: caisson("approvals", "list", "--json").outcome["items"]
        run = self.run_code("[send(to=to) for to in ('a', 'b', 'a')]")
        for to, options in (("a", ["--always"]), ("b", [])):
            self.wait_until(lambda: [one["arguments"] for one in pending()] == [{"to": to}], "somebody is asked")
            done = caisson("approvals", "approve", pending()[0]["id"], *options)
            self.assertEqual(done.status, 0, done)
        # The third call is like the first: that was granted for good.
        self.assertEqual(self.await_run(run["id"])["outcome"]["result"], ["sent"] * 3)
        self.assertEqual(self.sent(), [{"to": "a"}, {"to": "b"}, {"to": "a"}])
        self.stop(process)
        kinds = [json.loads(line)["kind"] for line in caisson("audit", "list", "--json").out.splitlines()]
        self.assertEqual(kinds, ["approval.approved", "grant.given", "effect.started", "effect.returned",
                                 "approval.approved", "effect.started", "effect.returned",
                                 "grant.used", "effect.started", "effect.returned"])
        verified = caisson("audit", "verify", "--json").outcome
        self.assertEqual(caisson("audit", "verify", "--json", "--file", "audit.jsonl").outcome, verified)

    def test_keys_change_while_runs_sleep(self):
        fresh = lambda: os.urandom(32).hex() + "\n"
        keys = self.work / "caisson.db.keys"
        for change in (lambda old: old + fresh(),  # Sealed with the old one, and opened with it.
                       lambda old: fresh()):       # The old one is gone: the run is replayed.
            process = self.serve(serve.SEND)
            run = self.run_code("import random\nx = random.random()\nsend(to='a')\nsend(to='b')\nx")
            process.kill()
            process.wait()
            keys.write_text(change(keys.read_text()))
            process = self.serve(serve.SEND)
            before = len(self.sent())
            for count in (1, 2):
                pending = lambda: self.ask("GET", "/v1/approvals?state=pending").json["items"]
                self.wait_until(pending, "somebody is asked")
                self.ask("POST", "/v1/approvals/" + pending()[0]["id"], {"decision": "approve"})
                self.wait_until(lambda: len(self.sent()) == before + count, "it is sent")
            outcome = self.await_run(run["id"])["outcome"]
            self.assertEqual(outcome["status"], "completed", outcome)
            self.assertEqual(self.sent()[before:], [{"to": "a"}, {"to": "b"}])
            self.stop(process)


if __name__ == "__main__":
    harness.run_suite(__main__)
