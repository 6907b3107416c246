"""`caisson approvals` and `caisson audit` on a store that the test fills."""

import __main__
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import sqlite3
import time

import harness

CONFIG = '[store]\nurl = "sqlite:data.db"\n'


def owner_of(tenant=None, user="local", chat=None):
    text = json.dumps([tenant, user, chat], separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Approvals(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.put("caisson.toml", CONFIG)
        self.put("data.db", "")  # SQLite takes an empty file for an empty database.
        self.kept.update({"data.db-wal", "data.db-shm"})
        self.call("approvals", "list")  # Makes the tables.

    def call(self, *arguments, status=0):
        done = self.caisson(*arguments, "--config", "caisson.toml")
        self.assertEqual(done.status, status, done)
        return done

    def json(self, *arguments, status=0):
        return self.call(*arguments, "--json", status=status).outcome

    def database(self):
        database = sqlite3.connect(self.work / "data.db")
        self.addCleanup(database.close)
        return database

    def ask(self, id, arguments, owner=None, session=None, digest=None, seconds=3600):
        """Inserts an approval as the host does when code makes a gated call; computes the digests
        independently."""
        text = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
        digest = digest or hashlib.sha256(b"caisson arguments 1\0" + text.encode()).hexdigest()
        now = int(time.time() * 1e6)
        with self.database() as database:
            database.execute(
                "INSERT INTO approvals (owner, id, run, seq, state, tool, tool_digest, arguments_digest, "
                "code_digest, arguments, created_at, expires_at, session) "
                "VALUES (?, ?, ?, 0, 'pending', 'send', 't', ?, 'c', ?, ?, ?, ?)",
                (owner or owner_of(), id, "run_" + id, digest, text.encode(), now, now + int(seconds * 1e6),
                 session))

    def state_of(self, id):
        return self.json("approvals", "show", id)["state"]

    def test_a_list_shows_what_waits_and_to_whom_it_belongs(self):
        self.assertEqual(self.call("approvals", "list").out, b"no approvals are waiting\n")
        self.ask("apr_1", {"to": "ann"})
        self.ask("apr_2", {"to": "eve"}, owner=owner_of("acme", "bea"))
        text = self.call("approvals", "list").out.decode()
        self.assertIn("apr_1  pending  send", text)
        self.assertIn('"to": "ann"', text)
        self.assertNotIn("apr_2", text)
        listed = self.json("approvals", "list")
        self.assertEqual([item["id"] for item in listed["items"]], ["apr_1"])
        self.assertEqual(listed["items"][0]["arguments"], {"to": "ann"})
        self.assertIsNone(listed["next"])
        theirs = self.json("approvals", "list", "--tenant", "acme", "--user", "bea")
        self.assertEqual([item["id"] for item in theirs["items"]], ["apr_2"])

    def test_nothing_hides_in_what_is_shown(self):
        self.ask("apr_1", {"to": "a\u202eb\u200b\x1b[2J", "body": "x" * 5000 + "end"})
        for done in (self.call("approvals", "show", "apr_1"), self.call("approvals", "list"),
                     self.call("approvals", "show", "apr_1", "--json")):
            text = done.out.decode()
            self.assertIn(r"a\u202eb\u200b\u001b[2J", text)
            for hidden in "\u202e\u200b\x1b":
                self.assertNotIn(hidden, text)
            self.assertIn('end"', text)
        self.assertRegex(self.call("approvals", "show", "apr_1").out.decode(),
                         '"body": 5005 bytes, SHA-256 [0-9a-f]{64}')

    def test_a_decision_is_stored_once_with_who_and_why(self):
        self.ask("apr_1", {})
        decided = self.json("approvals", "approve", "apr_1", "--reason", "looked at it")
        self.assertEqual(decided["state"], "approved")
        self.assertEqual(decided["decision"]["reason"], "looked at it")
        self.assertTrue(decided["decision"]["by"])
        self.call("approvals", "approve", "apr_1")  # Repeating it is not an error.
        self.assertIn(b"already been decided", self.call("approvals", "deny", "apr_1", status=2).err)
        self.assertEqual(self.state_of("apr_1"), "approved")

    def test_deny(self):
        self.ask("apr_1", {})
        self.assertIn("denied by", self.call("approvals", "deny", "apr_1", "--reason", "no").out.decode())
        self.assertEqual(self.state_of("apr_1"), "denied")
        self.assertEqual(self.json("approvals", "list")["items"], [])
        self.assertEqual(len(self.json("approvals", "list", "--all")["items"]), 1)

    def test_not_yours_and_not_there_are_one_answer(self):
        self.ask("apr_1", {}, owner=owner_of("acme", "bea"))
        for action in ("show", "approve", "deny"):
            theirs = self.call("approvals", action, "apr_1", status=2)
            none = self.call("approvals", action, "apr_none", status=2)
            self.assertEqual((theirs.out, theirs.err), (none.out, none.err))

    def test_a_call_that_was_not_hashed_cannot_be_approved(self):
        self.ask("apr_1", {"to": "bob"}, digest="0" * 64)
        self.assertNotIn(b"bob", self.call("approvals", "list").out)
        item = self.json("approvals", "list")["items"][0]
        self.assertIsNone(item["arguments"])
        self.assertIn("not what was hashed", item["problem"])
        self.call("approvals", "approve", "apr_1", status=2)
        self.call("approvals", "deny", "apr_1")

    def test_too_late_is_too_late(self):
        self.ask("apr_1", {}, seconds=-1)
        self.assertIn(b"expired", self.call("approvals", "approve", "apr_1", status=2).err)

    def test_grants_are_given_listed_and_revoked(self):
        self.ask("apr_1", {}, session="chat")
        self.ask("apr_2", {})
        self.call("approvals", "approve", "apr_1", "--session", "--any-arguments")
        self.call("approvals", "approve", "apr_2", "--session", status=2)  # It is in no session.
        self.assertEqual(self.state_of("apr_2"), "pending")
        self.call("approvals", "approve", "apr_2", "--any-arguments", status=2)
        self.call("approvals", "approve", "apr_2", "--always")
        grants = self.json("approvals", "grants")["items"]
        self.assertEqual([(grant["id"], grant["scope"]) for grant in grants],
                         [("grt_1", "session"), ("grt_2", "always")])
        self.assertIn(b"grt_1  session  send", self.call("approvals", "grants").out)
        self.call("approvals", "revoke", "grt_1")
        self.call("approvals", "revoke", "grt_1", status=2)
        self.assertEqual(len(self.json("approvals", "grants")["items"]), 1)

    def test_pages(self):
        for number in range(60):
            self.ask(f"apr_{number:03}", {})
        first = self.json("approvals", "list")
        self.assertEqual(len(first["items"]), 50)
        rest = self.json("approvals", "list", "--after", first["next"])
        self.assertEqual([item["id"] for item in rest["items"]],
                         [f"apr_{number:03}" for number in range(9, -1, -1)])

    def test_the_audit_log_tells_who_decided(self):
        self.assertEqual(self.call("audit", "list").out, b"the audit log is empty\n")
        self.ask("apr_1", {})
        self.ask("apr_2", {})
        self.call("approvals", "approve", "apr_1", "--reason", "fine")
        self.call("approvals", "deny", "apr_2")
        text = self.call("audit", "list").out.decode()
        self.assertIn("approval.approved", text)
        self.assertIn("fine", text)
        entries = [json.loads(line) for line in self.call("audit", "list", "--json").out.splitlines()]
        self.assertEqual([entry["kind"] for entry in entries], ["approval.approved", "approval.denied"])
        verified = self.json("audit", "verify")
        self.assertTrue(verified["whole"])
        self.assertEqual(verified["chains"], [{"owner": owner_of(), "entries": 2, "head": entries[1]["hash"]}])

    def test_a_changed_record_is_seen(self):
        for number in range(3):
            self.ask(f"apr_{number}", {})
            self.call("approvals", "deny", f"apr_{number}")
        copy = self.call("audit", "list", "--json").out
        self.put("audit.jsonl", copy)
        self.assertEqual(self.caisson("audit", "verify", "--file", "audit.jsonl").status, 0)
        with self.database() as database:
            database.execute("UPDATE audit SET body = replace(body, 'apr_1', 'apr_9')")
        self.assertIn(b"entry 2", self.call("audit", "verify", status=1).err)
        self.assertFalse(self.json("audit", "verify", status=1)["whole"])
        self.put("audit.jsonl", copy.replace(b"apr_1", b"apr_9"))
        self.assertIn(b"line 2", self.caisson("audit", "verify", "--file", "audit.jsonl").err)

    def test_a_missing_store_is_reported_and_not_created(self):
        # Without a configuration: caisson.db in the working directory.
        done = self.caisson("approvals", "list")
        self.assertEqual(done.status, 2)
        self.assertIn(b"there is no database at caisson.db", done.err)
        self.assertIn(b"--config", done.err)
        done = self.caisson("approvals", "list", "--config", self.put("s.toml", '[store]\nurl = "sqlite:s.db"\n'))
        self.assertEqual((done.status, done.err), (2, b"caisson: nothing is stored yet: there is no database at s.db\n"))

    def test_usage(self):
        for arguments in (["approvals"], ["approvals", "show"], ["approvals", "approve", "x", "--always", "--session"],
                          ["audit"], ["audit", "verify", "--file", "none.jsonl"],
                          ["approvals", "list", "--user", " "], ["approvals", "list", "--config", "none.toml"]):
            done = self.caisson(*arguments)
            self.assertEqual(done.status, 2, (arguments, done))
            self.assertTrue(done.err)


class AtATerminal(harness.CliTest):
    """`caisson run --approve ask`, with a person at a terminal and code that tries to deceive them."""

    def setUp(self):
        super().setUp()
        self.put("send.sh", "#!/bin/sh\ncat >> sent\necho '\"sent\"'\n")
        (self.work / "send.sh").chmod(0o755)
        self.put("caisson.toml", '[[tool]]\nname = "send"\nkind = "command"\ncommand = ["./send.sh"]\n'
                 'approval = "always"\ninput_schema = { type = "object", properties = { to = { type = "string" } } }\n')
        self.kept.add("sent")

    def run_until_asked(self, code, *arguments):
        """Returns the process, our end of its terminal, and the question shown there."""
        self.put("task.py", code)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)

        def own_terminal():
            harness.without_signals()
            # The first terminal that a session leader opens becomes its controlling terminal:
            # /dev/tty.
            os.close(os.open(os.ttyname(theirs), os.O_RDWR))
        process = self.start("run", "--json", "--config", "caisson.toml", "--approve", "ask", "task.py", *arguments,
                             start_new_session=True, preexec_fn=own_terminal)
        self.addCleanup(os.close, theirs)
        asked = b""
        while not asked.endswith(b"[y/N] "):
            ready, _, _ = select.select([ours], [], [], harness.PATIENCE)
            self.assertTrue(ready, asked)
            asked += os.read(ours, 4096)
        return process, ours, asked.decode()

    def run_and_answer(self, answer, code, *arguments, after=0):
        """Returns the question at the terminal, and how the run ended."""
        process, ours, asked = self.run_until_asked(code, *arguments)
        time.sleep(after)
        os.write(ours, answer + b"\n")
        out, err = process.communicate(timeout=harness.PATIENCE)
        return asked, json.loads(out)

    def test_a_person_may_take_longer_than_the_code(self):
        for engine in ("wasm", "native"):
            _, outcome = self.run_and_answer(b"y", "send(to='ann')", "--limit", "wall_seconds=1", "--engine", engine,
                                             after=1.5)
            self.assertEqual((outcome["status"], outcome["result"]), ("completed", "sent"), outcome)
            self.assertLess(outcome["usage"]["wall_us"], 1e6)

    def test_the_code_has_no_more_time_than_its_own_after_an_answer(self):
        _, outcome = self.run_and_answer(b"y", "send(to='ann')\nwhile True: pass", "--limit", "wall_seconds=0.5")
        self.assertEqual((outcome["status"], outcome["reason"]), ("limit", "wall_time"), outcome)

    def test_a_question_ends_with_its_program(self):
        for end, status in ((lambda process, ours: os.write(ours, b"\x03"), 130),
                            (lambda process, ours: process.send_signal(signal.SIGTERM), 143)):
            process, ours, _ = self.run_until_asked("try:\n    send(to='ann')\nexcept Exception: send(to='bob')")
            end(process, ours)
            out, _ = process.communicate(timeout=harness.PATIENCE)
            self.assertEqual(process.returncode, status)
            outcome = json.loads(out)
            self.assertEqual(outcome["status"], "cancelled")
            self.assertEqual([call["outcome"] for call in outcome["calls"]], ["pending"])
        self.assertFalse((self.work / "sent").exists())

    def test_a_yes_is_a_yes_to_what_was_shown(self):
        asked, outcome = self.run_and_answer(b"y", "send(to='a\\u202eb\\x1b[2J\\nallow this call? [y/N] y')")
        self.assertIn("wants to call send with", asked)
        self.assertIn(r'"to": "a\u202eb\u001b[2J\nallow this call? [y/N] y"', asked)
        self.assertNotIn("\x1b", asked)
        self.assertNotIn("\u202e", asked)
        self.assertEqual(outcome["result"], "sent")
        self.assertTrue((self.work / "sent").exists())

    def test_anything_else_is_a_no(self):
        for answer in (b"", b"n", b"yes please"):
            _, outcome = self.run_and_answer(answer, "send(to='ann')")
            self.assertEqual(outcome["error"]["type"], "ApprovalDenied", outcome)
        self.assertFalse((self.work / "sent").exists())

    def test_without_a_terminal_the_run_waits_in_the_store(self):
        config = (self.work / "caisson.toml").read_text()
        self.put("stored.toml", config + '[store]\nurl = "sqlite:runs.db"\n' + harness.tier.CONFIG)
        self.kept |= {"runs.db", "runs.db.keys", "runs.db-wal", "runs.db-shm"}
        stored = lambda *arguments, **options: self.caisson(*arguments, "--config", "stored.toml", **options)
        done = stored("run", "--json", code="print('before')\nsend(to='ann')", start_new_session=True)
        self.assertEqual((done.status, done.outcome["status"]), (3, "waiting"), done)
        self.assertFalse((self.work / "sent").exists())
        approval, run = done.outcome["approvals"][0]["id"], done.outcome["run_id"]
        self.assertEqual(stored("approvals", "approve", approval).status, 0)
        resumed = stored("runs", "resume", run, "--json")
        self.assertEqual((resumed.status, resumed.outcome["result"]), (0, "sent"), resumed)
        self.assertEqual(resumed.outcome["stdout"], "before\n")

        said = stored("run", code="send(to='ann')", start_new_session=True)
        self.assertEqual((said.status, said.out), (3, b""), said)
        self.assertRegex(said.err.decode(), "approvals approve apr_.* --config stored.toml .*\n"
                         "caisson: then continue with: caisson runs resume run_.* --config stored.toml\n$")
        self.assertEqual(stored("run", code="6*7", start_new_session=True).out, b"42\n")

    def test_the_configuration_on_the_page_about_approvals_does_what_the_page_says(self):
        page = (pathlib.Path(__file__).parents[2] / "docs/approvals.md").read_text()
        self.put("page.toml", re.search("```toml\n(.*?)```", page, re.DOTALL).group(1) + harness.tier.CONFIG)
        (self.work / "send.sh").rename(self.work / "send.py")
        self.kept |= {"send.py", "caisson.db", "caisson.db.keys", "caisson.db-wal", "caisson.db-shm", "audit.jsonl"}
        for to, status in (("ann@acme.example", 0), ("ann@else.example", 3)):
            done = self.caisson("run", "--config", "page.toml", code=f"send(to='{to}')", start_new_session=True)
            self.assertEqual(done.status, status, done)

    def test_output_options_are_kept_when_a_run_waits(self):
        config = (self.work / "caisson.toml").read_text()
        self.put("a store.toml", config + '[store]\nurl = "sqlite:runs.db"\n' + harness.tier.CONFIG)
        self.kept |= {"runs.db", "runs.db.keys", "runs.db-wal", "runs.db-shm", "out", "out/a.txt"}
        self.put("task.py", "print('before')\nopen('/output/a.txt', 'w').write(send(to='ann'))\nprint('after')\n6*7")
        for arguments in ([], ["--json", "--file-data"]):
            with self.subTest(arguments):
                waits = self.caisson("run", "--config", "a store.toml", "--output", "out", "task.py", *arguments,
                                     start_new_session=True)
                self.assertEqual((waits.status, list((self.work / "out").iterdir())), (3, []), waits)
                commands = re.findall("(?m)^caisson: .*: caisson (.*?)(?: [(].*)?$", waits.err.decode())
                self.assertEqual(len(commands), 2, waits)
                approve, resume = (shlex.split(command) for command in commands)
                self.assertEqual(self.caisson(*approve).status, 0)
                for _ in range(2):  # It ends, and then has ended.
                    resumed = self.caisson(*resume)
                    self.assertEqual(resumed.status, 0, resumed)
                    self.assertEqual((self.work / "out/a.txt").read_text(), "sent")
                    (self.work / "out/a.txt").unlink()
                    if not arguments:
                        self.assertEqual(resumed.out, b"before\nafter\n42\n")
                        self.assertEqual(resumed.err, b"file: /output/a.txt created 4 bytes\n")
                    else:
                        self.assertEqual(resumed.outcome["files"][0]["data"], "c2VudA==")

    def test_a_call_that_cannot_wait_in_the_store_is_denied(self):
        if not harness.has_package("numpy"):
            self.skipTest("no numpy here")
        config = (self.work / "caisson.toml").read_text()
        self.put("stored.toml", config + '[store]\nurl = "sqlite:runs.db"\n' + harness.tier.CONFIG)
        self.kept |= {"runs.db", "runs.db.keys", "runs.db-wal", "runs.db-shm"}
        for arguments, code in ((["--engine", "native"], "send(to='ann')"), ([], "import numpy\nsend(to='ann')")):
            done = self.caisson("run", "--json", "--config", "stored.toml", *arguments, code=code, start_new_session=True)
            self.assertEqual((done.status, done.outcome["error"]["type"]), (1, "ApprovalDenied"), done)
            self.assertIn("no terminal", done.outcome["error"]["message"])
        self.assertFalse((self.work / "sent").exists())

    def test_calls_denied_for_lack_of_a_terminal_are_reported_at_the_end(self):
        if not harness.has_package("numpy"):
            self.skipTest("no numpy here")
        config = (self.work / "caisson.toml").read_text()
        self.put("stored.toml", config + '[store]\nurl = "sqlite:runs.db"\n' + harness.tier.CONFIG)
        self.kept |= {"runs.db", "runs.db.keys", "runs.db-wal", "runs.db-shm", "out", "out/a.txt"}
        code = ("import numpy\nprint('before')\ntry:\n    send(to='ann')\nexcept Exception: print('denied')\n"
                "with open('/output/a.txt', 'w') as f: print('kept', file=f)\n")
        for _ in range(8):  # Whether it still exists when its end is noticed depends on timing.
            done = self.caisson("run", "--config", "stored.toml", "--output", "out", code=code, start_new_session=True)
            self.assertEqual((done.status, done.out), (0, b"before\ndenied\n"), done)
            self.assertEqual((self.work / "out/a.txt").read_text(), "kept\n")

    # AC-47
    def test_a_yes_to_everything_is_none_to_refused_code(self):
        done = self.caisson("run", "--json", "--config", "caisson.toml", "--approve", "all",
                            code="send(to='ann')\nimport ctypes")
        self.assertEqual(done.outcome["status"], "rejected", done)
        self.assertFalse((self.work / "sent").exists())
        done = self.caisson("run", "--json", "--config", "caisson.toml", "--approve", "all", code="send(to='ann')")
        self.assertEqual(done.outcome["result"], "sent", done)

    def test_without_a_terminal_nobody_is_asked(self):
        done = self.caisson("run", "--json", "--config", "caisson.toml", "--approve", "ask", code="send(to='ann')",
                            start_new_session=True)
        self.assertEqual(done.outcome["error"]["type"], "ApprovalDenied", done)
        self.assertFalse((self.work / "sent").exists())


if __name__ == "__main__":
    harness.run_suite(__main__)
