"""Upstream servers behind a server with many users: one instance for each, and tools that come,
change and go."""

import __main__
import concurrent.futures
import pathlib
import sys

import harness
import mcp_http
import serve

PREFIX = "CAISSON_SESSION_"
# An MCP server that reports its process id, and whose tools change on request.
SERVER = r'''
import json, os, subprocess, sys
tools = {name: "A tool." for name in ("who", "crash", "grow", "change", "drop", "gated", "breed", "hang")}

def send(**fields): print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)

for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    def answer(**result): send(id=m["id"], result=result)
    method, params = m["method"], m.get("params", {})
    if method == "initialize":
        answer(protocolVersion="2025-06-18", capabilities={"tools": {"listChanged": True}},
               serverInfo={"name": "s", "version": "1"})
    elif method == "tools/list":
        answer(tools=[{"name": n, "description": d, "inputSchema": {"type": "object"}} for n, d in tools.items()])
    elif method == "tools/call":
        name = params["name"]
        if name == "crash": os._exit(3)
        if name == "hang":
            with open("effects", "a") as log: print(name, file=log)
            continue
        if name == "grow": tools["new"] = "A new tool."
        if name == "change": tools["gated"] = "Another tool."
        if name == "drop": del tools["who"]
        if name in ("grow", "change", "drop"): send(method="notifications/tools/list_changed")
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True).pid if name == "breed" else None
        with open("effects", "a") as log: print(name, file=log)
        answer(content=[], structuredContent={"pid": os.getpid(), "child": child, "env": dict(os.environ)})
    else:
        send(id=m["id"], error={"code": -32601, "message": "no"})
'''
CHATS = """
[identity]
mode = "headers"
[identity.headers]
user = "x-user"
tenant = "x-tenant"
chat = "x-chat"
proxies = ["127.0.0.0/8"]
"""
UPSTREAM = f'[[upstream]]\nname = "up"\ncommand = ["{sys.executable}", "server.py"]\n'


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class UpstreamSessions(serve.Serve):
    def setUp(self):
        super().setUp()
        self.put("server.py", SERVER)
        self.put("ann.key", serve.ANN)
        self.put("bob.key", serve.BOB)
        self.kept.add("effects")

    def serve_with(self, *lines, identity=serve.KEYS, store=serve.MEMORY):
        self.ending = False
        self.process = self.serve(store + identity + UPSTREAM + "\n".join(lines))

    def tearDown(self):
        self.end()
        self.process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(self.process.returncode, 0)
        super().tearDown()

    def end(self):
        if not self.ending:  # A second signal would not be waited for.
            self.process.terminate()
        self.ending = True

    def outcome(self, code, key=serve.ANN):
        answer = self.ask("POST", "/v1/runs", {"code": code}, key)
        self.assertIn(answer.status, (200, 202), answer)
        return answer.json["outcome"]

    def value(self, code, key=serve.ANN):
        outcome = self.outcome(code, key)
        self.assertEqual(outcome["status"], "completed", outcome)
        return outcome["result"]

    def error(self, code, key=serve.ANN):
        outcome = self.outcome(code, key)
        self.assertEqual(outcome["status"], "failed", outcome)
        return outcome["error"]["message"]

    def test_each_user_has_a_process_with_their_own_variables(self):
        self.serve_with()
        ann, bob = self.value("up_who()"), self.value("up_who()", serve.BOB)
        self.assertNotEqual(ann["pid"], bob["pid"])
        self.assertEqual((ann["env"][PREFIX + "USER_ID"], bob["env"][PREFIX + "USER_ID"]), ("ann", "bob"))
        self.assertNotIn(PREFIX + "MESSAGE_ID", ann["env"])  # It serves the next request too.
        self.assertEqual(self.value("up_who()")["pid"], ann["pid"])
        client = mcp_http.Client(self.port)
        call = {"name": "execute_code", "arguments": {"code": "up_who()"}}
        answer = client.modern("tools/call", call, Authorization="Bearer " + serve.ANN)
        self.assertEqual(answer.message["result"]["structuredContent"]["result"]["pid"], ann["pid"])

    def test_many_at_once_never_meet(self):
        self.serve_with()

        def ask(number):
            user = ("ann", "bob")[number % 2]
            many = self.value("import asyncio\nawait asyncio.gather(*[up_who() for _ in range(8)])",
                              {"ann": serve.ANN, "bob": serve.BOB}[user])
            return user, {(each["pid"], each["env"][PREFIX + "USER_ID"]) for each in many}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(ask, range(16)))
        for user in ("ann", "bob"):
            mine = set.union(*[pids for who, pids in seen if who == user])
            self.assertEqual({name for _, name in mine}, {user})
            self.assertEqual(len(mine), 1, mine)

    def test_a_shared_one_serves_all_and_knows_nobody(self):
        self.serve_with("shared = true")
        ann, bob = self.value("up_who()"), self.value("up_who()", serve.BOB)
        self.assertEqual(ann["pid"], bob["pid"])
        self.assertEqual([name for name in ann["env"] if name.startswith(PREFIX)], [])

    def test_one_that_nobody_uses_ends_with_its_children(self):
        self.serve_with("idle_seconds = 0.1")
        bred = self.value("up_breed()")
        self.wait_until(lambda: not is_alive(bred["pid"]) and not is_alive(bred["child"]), "it ends")
        self.assertNotEqual(self.value("up_who()")["pid"], bred["pid"])

    def test_all_end_with_the_server(self):
        self.serve_with()
        bred = self.value("up_breed()")
        self.end()
        self.wait_until(lambda: not is_alive(bred["pid"]) and not is_alive(bred["child"]), "they end")

    def test_there_are_only_so_many(self):
        self.serve_with("max_instances = 1")
        self.hang_in_the_background(self.as_key(serve.ANN))
        self.assertIn('all 1 instances of the server "up" are in use by other sessions',
                      self.error("up_who()", serve.BOB))

    def test_an_idle_one_makes_room_for_another_user(self):
        self.serve_with("max_instances = 1")
        ann = self.value("up_who()")["pid"]
        self.value("up_who()", serve.BOB)
        self.wait_until(lambda: not is_alive(ann), "ann's ends")
        self.assertNotEqual(self.value("up_who()")["pid"], ann)

    def test_the_user_with_most_chats_makes_room(self):
        self.serve_with("max_instances = 4", identity=CHATS)
        other = self.value_in_chat("bob", "1")
        chats = [self.value_in_chat("ann", str(chat)) for chat in range(3)]
        self.assertEqual(len({other, *chats}), 4)
        self.value_in_chat("eve", "1")
        self.wait_until(lambda: not is_alive(chats[0]), "ann's oldest ends")
        self.assertEqual(self.value_in_chat("bob", "1"), other)
        self.assertEqual([self.value_in_chat("ann", str(chat)) for chat in (1, 2)], chats[1:])

    def test_the_calls_of_one_user_use_half_at_most(self):
        self.serve_with("max_instances = 4", identity=CHATS)
        for chat in range(2):
            self.hang_in_the_background(self.in_chat("ann", str(chat)))
        refused = self.ask("POST", "/v1/runs", {"code": "up_who()"}, headers=self.in_chat("ann", "2")).json["outcome"]
        self.assertIn("one user can use at most half of all (max_instances = 4)", refused["error"]["message"])
        for chat in range(3):
            self.value_in_chat("bob", str(chat))

    def as_key(self, key):
        return {"Authorization": "Bearer " + key}

    def in_chat(self, user, chat):
        return {"x-tenant": "acme", "x-user": user, "x-chat": chat}

    def value_in_chat(self, user, chat):
        answer = self.ask("POST", "/v1/runs", {"code": "up_who()['pid']"}, headers=self.in_chat(user, chat))
        self.assertEqual(answer.json["outcome"]["status"], "completed", answer)
        return answer.json["outcome"]["result"]

    def hang_in_the_background(self, headers):
        before = self.effects().count("hang")
        run = {"code": "up_hang()", "wait": False, "limits": {"wall_seconds": 100}}
        self.assertEqual(self.ask("POST", "/v1/runs", run, headers=headers).status, 202)
        self.wait_until(lambda: self.effects().count("hang") > before, "the call hangs")

    def effects(self):
        effects = self.work / "effects"
        return effects.read_text() if effects.exists() else ""

    def test_a_crash_harms_its_own_user_only(self):
        self.serve_with()
        ann, bob = self.value("up_who()")["pid"], self.value("up_who()", serve.BOB)["pid"]
        self.assertIn("closed the connection before it answered", self.error("up_crash()"))
        self.assertEqual(self.value("up_who()", serve.BOB)["pid"], bob)

        def back():
            outcome = self.outcome("up_who()")
            return outcome["status"] == "completed" and outcome["result"]["pid"] != ann
        self.wait_until(back, "ann has a new one")

    def test_one_that_hangs_harms_its_own_user_only(self):
        self.serve_with("timeout_seconds = 3")
        self.assertIn("did not answer within", self.error("up_hang()"))
        self.assertEqual(self.value("up_who()", serve.BOB)["env"][PREFIX + "USER_ID"], "bob")

    def test_a_tool_that_is_added_is_there_in_the_next_run(self):
        self.serve_with()
        self.assertIn('no tool "up_new"', self.error("call_tool('up_new', {})"))
        self.value("up_grow()")
        self.assertEqual(self.value("up_new()")["env"][PREFIX + "USER_ID"], "ann")
        # Only ann's process has it.
        self.assertIn('no tool "up_new"', self.error("call_tool('up_new', {})", serve.BOB))
        listed = {user: mcp_http.Client(self.port).modern("tools/list", Authorization="Bearer " + key).body
                  for user, key in (("ann", serve.ANN), ("bob", serve.BOB))}
        self.assertIn(b"up_new(", listed["ann"])
        self.assertNotIn(b"up_new(", listed["bob"])

    def test_a_shared_one_that_grows_does_so_for_all(self):
        self.serve_with("shared = true")
        self.value("up_grow()")
        self.assertEqual(self.value("up_new()", serve.BOB)["child"], None)

    def test_a_tool_that_is_dropped_says_so(self):
        self.serve_with()
        self.assertIn('has no tool "who" any more', self.error("up_drop()\nup_who()"))
        self.assertIn('there is no tool "up_who"', self.error("call_tool('up_who', {})"))

    def test_an_approval_of_one_tool_is_none_of_another(self):
        self.serve_with('ask = ["gated"]')
        run = self.ask("POST", "/v1/runs", {"code": "up_gated()"}, serve.ANN).json
        self.assertEqual(run["state"], "waiting", run)
        self.value("up_change()")
        approval = run["outcome"]["approvals"][0]["id"]
        self.assertEqual(self.ask("POST", f"/v1/approvals/{approval}", {"decision": "approve"}, serve.ANN).status, 200)
        outcome = self.await_run(run["id"], serve.ANN)["outcome"]
        self.assertEqual((outcome["status"], outcome["calls"][0]["outcome"]), ("failed", "raised"), outcome)
        self.assertIn("has changed its tool", outcome["error"]["message"])
        self.assertNotIn("gated", (self.work / "effects").read_text())
        # In its current form it can be approved and called.
        run = self.ask("POST", "/v1/runs", {"code": "up_gated()['pid']"}, serve.ANN).json
        approval = run["outcome"]["approvals"][0]["id"]
        self.assertEqual(self.ask("POST", f"/v1/approvals/{approval}", {"decision": "approve"}, serve.ANN).status, 200)
        self.assertEqual(self.await_run(run["id"], serve.ANN)["outcome"]["status"], "completed")

    def test_a_grant_is_for_the_tool_as_it_was(self):
        self.kept |= {"caisson.db", "caisson.db.keys", "caisson.db-wal", "caisson.db-shm"}
        self.serve_with('ask = ["gated"]', store='[store]\nurl = "sqlite:caisson.db"\n', identity="")
        run = self.ask("POST", "/v1/runs", {"code": "up_gated()['pid']"}).json
        approval = run["outcome"]["approvals"][0]["id"]
        granted = self.caisson("approvals", "approve", approval, "--always", "--config", "caisson.toml")
        self.assertEqual(granted.status, 0, granted)
        self.await_run(run["id"])
        self.assertEqual(self.outcome("up_gated()['pid']", None)["status"], "completed")
        self.value("up_change()", None)
        self.assertEqual(self.outcome("up_gated()['pid']", None)["status"], "waiting")


if __name__ == "__main__":
    harness.run_suite(__main__)
