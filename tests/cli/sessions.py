"""The session variables that commands see behind every door: they tell whom a tool acts for."""

import __main__
import concurrent.futures
import json
import os
import signal
import subprocess
import sys

import harness
import mcp
import mcp_http
import serve

PREFIX = "CAISSON_SESSION_"
# Prints its environment.
WHO = """
[[tool]]
name = "who"
kind = "command"
command = ["./who.py"]
"""


class Sessions(serve.Serve):
    def setUp(self):
        super().setUp()
        self.put("who.py", f"#!{sys.executable}\nimport json, os\nprint(json.dumps(dict(os.environ)))\n")
        (self.work / "who.py").chmod(0o755)
        self.put("ann.key", serve.ANN)
        self.put("bob.key", serve.BOB)

    def who(self, key=None, headers=None, **more):
        """Returns the environment that the command sees for the user with that key, over REST."""
        answer = self.ask("POST", "/v1/runs", {"code": "who()", **more}, key, headers)
        self.assertEqual(answer.json["outcome"]["status"], "completed", answer)
        return answer.json["outcome"]["result"]

    def expect(self, environment, **values):
        for name, value in values.items():
            self.assertEqual(environment.get(PREFIX + name.upper()), value, name)

    def test_rest_says_who_came_how(self):
        process = self.serve(serve.MEMORY + serve.KEYS + WHO)
        ann = self.who(serve.ANN, {"Idempotency-Key": "key-7"}, session="notes")
        self.expect(ann, platform="rest", user_id="ann", scope_id="acme", chat_id="", message_id="key-7", id="notes")
        bob = self.who(serve.BOB)
        self.expect(bob, platform="rest", user_id="bob", message_id="", id="")
        self.assertRegex(ann[PREFIX + "PRINCIPAL"], "^[0-9a-f]{64}$")
        self.assertNotEqual(ann[PREFIX + "PRINCIPAL"], bob[PREFIX + "PRINCIPAL"])
        self.stop(process)

    def test_mcp_over_http_says_who_came_how_in_both_eras(self):
        process = self.serve(serve.MEMORY + serve.KEYS + WHO)
        for legacy in (False, True):
            client = mcp_http.Client(self.port)
            authorized = {"Authorization": "Bearer " + serve.ANN}
            call = {"name": "execute_code", "arguments": {"code": "who()"}}
            if legacy:
                begun = client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                    "protocolVersion": "2025-11-25", "capabilities": {}}}, **authorized)
                client.session = begun.headers["Mcp-Session-Id"]
                answer = client.legacy("tools/call", call, **authorized)
            else:
                answer = client.modern("tools/call", call, **authorized)
            seen = answer.message["result"]["structuredContent"]["result"]
            self.expect(seen, platform="mcp", user_id="ann", scope_id="acme", message_id="2" if legacy else "1")
        self.stop(process)

    def test_mcp_over_pipes_is_the_session_that_it_was_started_in(self):
        config = self.put("caisson.toml", serve.MEMORY + WHO)
        for start, chat in (({}, None), ({PREFIX + "CHAT_ID": "starter"}, "starter")):
            process = self.start_in(start, "mcp", "--config", config, stdin=subprocess.PIPE)
            client = mcp.Client(self, process)
            client.initialize()
            seen = client.run_code("who()")["structuredContent"]["result"]
            self.expect(seen, platform="mcp", user_id="local", chat_id=chat, message_id="2")
            client.close()

    def test_the_command_line_too(self):
        config = self.put("caisson.toml", serve.MEMORY + WHO)
        process = self.start_in({PREFIX + "CHAT_ID": "starter"}, "run", "--json", "--config", config,
                                stdin=subprocess.PIPE)
        out, _ = process.communicate(b"who()", timeout=harness.PATIENCE)
        self.expect(json.loads(out)["result"], platform="cli", user_id="local", chat_id="starter")

    # AC-25, AC-26
    def test_a_terminal_session_has_an_id_of_its_own(self):
        config = self.put("caisson.toml", serve.MEMORY + WHO)
        seen = []
        for _ in range(2):
            process = self.start_in({PREFIX + "CHAT_ID": "starter", PREFIX + "ID": "starter"}, "repl", "--config", config,
                                    stdin=subprocess.PIPE)
            out, _ = process.communicate(b"who()\nwho()\n", timeout=harness.PATIENCE)
            first, second = (json.loads(line) for line in out.splitlines())
            self.assertEqual(first[PREFIX + "ID"], second[PREFIX + "ID"])
            self.expect(first, chat_id="starter")
            seen.append(first[PREFIX + "ID"])
        self.assertEqual(len({*seen, "", "starter"}), 4, seen)

    def test_the_session_that_started_a_server_is_no_session_of_its_users(self):
        self.put("caisson.toml", serve.MEMORY + serve.KEYS + WHO)
        process = self.start_in({PREFIX + "CHAT_ID": "starter", PREFIX + "CRON": "1"}, "serve", "--config",
                                "caisson.toml", "--listen", "127.0.0.1:0", preexec_fn=harness.without_signals)
        self.port = int(process.stdout.readline().decode().rsplit(":", 1)[1])
        self.expect(self.who(serve.ANN), user_id="ann", chat_id="", cron=None)
        self.stop(process)

    def test_two_users_at_once_never_see_each_other(self):
        process = self.serve(serve.MEMORY + serve.KEYS + WHO)
        keys = {"ann": serve.ANN, "bob": serve.BOB}

        def ask(number):
            user = ("ann", "bob")[number % 2]
            results = [who[PREFIX + "USER_ID"] for who in (self.who(keys[user]) for _ in range(5))]
            return user, set(results)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for user, seen in pool.map(ask, range(16)):
                self.assertEqual(seen, {user})
        self.stop(process)

    def test_a_run_that_was_killed_goes_on_for_whoever_it_was_for(self):
        self.put("send.sh", "#!/bin/sh\nenv | grep CAISSON_SESSION_ | sort >> effects\necho null\n")
        (self.work / "send.sh").chmod(0o755)
        self.kept |= {"effects", "caisson.db", "caisson.db.keys", "caisson.db-wal", "caisson.db-shm"}
        config = '[store]\nurl = "sqlite:caisson.db"\n' + serve.KEYS + serve.SEND + WHO
        process = self.serve(config)
        answer = self.ask("POST", "/v1/runs", {"code": "a = who()\nsend(to='x')\n[a, who()]"}, serve.ANN,
                          {"Idempotency-Key": "key-7"})
        run = answer.json
        self.assertEqual(run["state"], "waiting", answer)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process = self.serve(config)
        self.expect(self.who(serve.BOB), user_id="bob")
        approval = run["outcome"]["approvals"][0]["id"]
        self.assertEqual(self.ask("POST", f"/v1/approvals/{approval}", {"decision": "approve"}, serve.ANN).status, 200)
        before, after = self.await_run(run["id"], serve.ANN)["outcome"]["result"]
        sessions = [{name: value for name, value in seen.items() if name.startswith(PREFIX)}
                    for seen in (before, after)]
        self.assertEqual(sessions[0], sessions[1])
        self.expect(after, platform="rest", user_id="ann", message_id="key-7")
        effects = dict(line.split("=", 1) for line in (self.work / "effects").read_text().splitlines())
        self.assertEqual(effects, sessions[0])
        self.stop(process)

    def start_in(self, environment, *arguments, **options):
        """The program, started inside a session."""
        process = subprocess.Popen([harness.PROGRAM, *arguments], cwd=self.work, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE,
                                   env={"TMPDIR": str(self.tmp), "PATH": os.environ["PATH"], **environment},
                                   **{"stdin": subprocess.DEVNULL, **options})
        self.addCleanup(self.discard, process)
        return process


if __name__ == "__main__":
    harness.run_suite(__main__)
