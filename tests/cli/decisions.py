"""Decisions, grants, keys and the audit log between a server, its successors and the command line.
"""

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
        # The third call equals the first, for which there is a standing grant.
        self.assertEqual(self.await_run(run["id"])["outcome"]["result"], ["sent"] * 3)
        self.assertEqual(self.sent(), [{"to": "a"}, {"to": "b"}, {"to": "a"}])
        self.stop(process)
        kinds = [json.loads(line)["kind"] for line in caisson("audit", "list", "--json").out.splitlines()]
        self.assertEqual(kinds, ["approval.approved", "grant.given", "effect.started", "effect.returned",
                                 "approval.approved", "effect.started", "effect.returned",
                                 "grant.used", "effect.started", "effect.returned"])
        verified = caisson("audit", "verify", "--json").outcome
        self.assertEqual(caisson("audit", "verify", "--json", "--file", "audit.jsonl").outcome, verified)

    def test_a_yes_for_a_session_ends_with_that_session(self):
        """The name of a session is reused after a crash, a restart and in a new server; the grant
        is not."""
        for engine in ("wasm", "native"):
            config = serve.SEND + f'[engine]\ndefault = "{engine}"\n[policy]\npreset = "open"\n'
            before = len(self.sent())
            process = self.serve(config)

            def is_asked(**more):
                run = self.run_code("send(to='a')", session="s", **more)
                for asked in (run["outcome"] or {}).get("approvals", []):
                    self.ask("POST", "/v1/approvals/" + asked["id"], {"decision": "deny"})
                self.await_run(run["id"])
                return run["state"] == "waiting"

            def allow(session, **more):
                run = self.run_code("send(to='a')", session=session, **more)
                id = run["outcome"]["approvals"][0]["id"]
                self.ask("POST", "/v1/approvals/" + id, {"decision": "approve", "standing": {"scope": "session"}})
                self.assertEqual(self.await_run(run["id"])["outcome"]["result"], "sent")

            allow("s")
            self.assertFalse(is_asked())
            self.assertEqual(len(self.sent()), before + 2)
            # A copy of the session is another session.
            if engine == "wasm" or not harness.tier.REFUSED:
                run = self.run_code("send(to='a')", session="copy" + engine, fork_of="s")
                self.assertEqual(run["state"], "waiting", run)
                self.ask("POST", f"/v1/runs/{run['id']}/cancel")
            # It crashes, and starts afresh.
            self.run_code("while True: pass", session="s", limits={"wall_seconds": 0.2})
            self.assertTrue(is_asked(restart=True))
            allow("s")
            self.assertFalse(is_asked())
            # The server is killed and restarted.
            process.kill()
            process.wait()
            process = self.serve(config)
            self.assertTrue(is_asked())
            self.assertEqual(len(self.sent()), before + 4)
            self.stop(process)

    def test_an_approval_can_change_arguments_at_both_doors(self):
        process = self.serve(serve.SEND)
        before = len(self.sent())

        def ask():
            run = self.run_code("send(to='a')")
            return run, run["outcome"]["approvals"][0]["id"]

        run, id = ask()
        for wrong in ({"to": 1}, {"cc": "b"}, []):
            refused = self.ask("POST", "/v1/approvals/" + id, {"decision": "approve", "arguments": wrong})
            self.assertEqual(refused.status, 400, refused)
        decided = self.ask("POST", "/v1/approvals/" + id, {"decision": "approve", "arguments": {"to": "b"}}).json
        self.assertEqual((decided["arguments"], decided["edited_arguments"]), ({"to": "a"}, {"to": "b"}))
        self.assertEqual(self.await_run(run["id"])["outcome"]["status"], "completed")

        run, id = ask()
        approve = lambda text: self.caisson("approvals", "approve", id, "--arguments", text, "--json",
                                            "--config", "caisson.toml")
        for wrong in ('{"to": 1}', '{"cc": "b"}', "[]", "{"):
            self.assertEqual(approve(wrong).status, 2, wrong)
        self.assertEqual(approve('{"to": "c"}').outcome["edited_arguments"], {"to": "c"})
        self.assertIn(b"changed to", self.caisson("approvals", "show", id, "--config", "caisson.toml").out)
        self.assertEqual(self.await_run(run["id"])["outcome"]["status"], "completed")
        self.assertEqual(self.sent()[before:], [{"to": "b"}, {"to": "c"}])
        self.stop(process)

    def test_a_no_is_found_by_what_it_was(self):
        process = self.serve(serve.SEND + "[approvals]\nexpire_seconds = 1\n")
        denied = self.run_code("try: send(to='a')\nexcept ApprovalDenied as e: str(e)")
        denied_id = denied["outcome"]["approvals"][0]["id"]
        self.ask("POST", "/v1/approvals/" + denied_id, {"decision": "deny", "reason": "no"})
        self.await_run(denied["id"])
        expired = self.run_code("send(to='b')")
        expired_id = expired["outcome"]["approvals"][0]["id"]
        self.await_run(expired["id"])
        in_state = lambda state: [one["id"] for one in self.ask("GET", "/v1/approvals?state=" + state).json["items"]]
        listed = lambda state: [one["id"] for one in self.caisson(
            "approvals", "list", "--json", "--state", state, "--config", "caisson.toml").outcome["items"]]
        for state, ids in (("denied", [denied_id]), ("expired", [expired_id]), ("consumed", []), ("pending", [])):
            self.assertEqual(in_state(state), ids, state)
            self.assertEqual(listed(state), ids, state)
        self.assertEqual(self.ask("GET", "/v1/approvals/" + denied_id).json["state"], "denied")
        done = self.caisson("approvals", "list", "--state", "gone", "--config", "caisson.toml")
        self.assertEqual(done.status, 2)
        self.assertIn(b"must be one of pending, approved, denied", done.err)
        self.stop(process)

    def test_keys_change_while_runs_sleep(self):
        fresh = lambda: os.urandom(32).hex() + "\n"
        keys = self.work / "caisson.db.keys"
        for change in (lambda old: old + fresh(),  # Sealed with the old key, and opened with it.
                       lambda old: fresh()):       # The old key is gone: the run is replayed.
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
