"""caisson mcp as a client sees it: raw lines in and out, both eras, good clients and bad ones."""

import json
import queue
import signal
import subprocess
import sys
import threading
import time

from harness import CliTest, PATIENCE, SLOWDOWN, has_package, run_suite, tier

META = "io.modelcontextprotocol/"


class Client:
    """Speaks JSON-RPC in lines with a process."""

    def __init__(self, test, process):
        self.test, self.process, self.ids = test, process, 0
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send_line(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else line.encode() + b"\n")
        self.process.stdin.flush()

    def send(self, **fields):
        self.send_line(json.dumps({"jsonrpc": "2.0", **fields}))

    def receive(self):
        """Returns the next message; None at the end."""
        line = self.lines.get(timeout=PATIENCE)
        if line is None:
            return None
        message = json.loads(line)
        self.test.assertEqual(message["jsonrpc"], "2.0")
        return message

    def ask(self, method, params=None):
        self.ids += 1
        self.send(id=self.ids, method=method, **({} if params is None else {"params": params}))
        return self.ids

    def reply_to(self, request):
        """Returns the answer to a request; earlier messages are in self.heard."""
        self.heard = []
        while (message := self.receive()) is not None:
            if message.get("id") == request and "method" not in message:
                return message
            self.heard.append(message)
        self.test.fail(f"no answer; heard {self.heard}")

    def request(self, method, params=None):
        return self.reply_to(self.ask(method, params))

    def result(self, method, params=None):
        message = self.request(method, params)
        self.test.assertIn("result", message)
        return message["result"]

    def initialize(self, version="2025-11-25", **capabilities):
        result = self.result("initialize", {"protocolVersion": version, "capabilities": capabilities,
                                            "clientInfo": {"name": "test", "version": "1"}})
        self.send(method="notifications/initialized")
        return result

    def run_code(self, code, **more):
        return self.result("tools/call", {"name": "execute_code", "arguments": {"code": code}, **more})

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=PATIENCE)


def modern(params=None, **meta):
    """Params in the form of the modern era."""
    return {**(params or {}), "_meta": {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {},
                                        **{META + name: value for name, value in meta.items()}}}


class McpTest(CliTest):
    def setUp(self):
        super().setUp()
        self.clients = []

    def tearDown(self):
        for client in self.clients:
            client.close()
        super().tearDown()

    def client(self, *arguments, **options):
        client = Client(self, self.start("mcp", *arguments, stdin=subprocess.PIPE, **options))
        self.clients.append(client)
        return client

    def texts(self, result):
        return [block["text"] for block in result["content"] if block["type"] == "text"]


class LegacyEra(McpTest):
    def test_says_who_it_is_in_each_version(self):
        for asked, spoken in (("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"),
                              ("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25"),
                              ("2026-07-28", "2025-11-25")):
            client = self.client()
            result = client.initialize(asked)
            self.assertEqual(result["protocolVersion"], spoken)
            self.assertEqual(result["serverInfo"]["name"], "caisson")
            self.assertIn("tools", result["capabilities"])
            self.assertEqual(client.result("ping"), {})
            self.assertEqual(client.close(), 0)

    def test_lists_execute_code(self):
        client = self.client()
        client.initialize()
        tools = {tool["name"]: tool for tool in client.result("tools/list")["tools"]}
        self.assertEqual(sorted(tools), ["execute_code", "wait_for_run"])
        self.assertEqual(tools["execute_code"]["inputSchema"]["required"], ["code"])
        self.assertIn("print()", tools["execute_code"]["description"])

    def test_runs_code(self):
        client = self.client()
        client.initialize()
        result = client.run_code("print('hi')\n6 * 7")
        self.assertEqual(self.texts(result), ["hi\n", "42"])
        self.assertFalse(result["isError"])
        outcome = result["structuredContent"]
        self.assertEqual((outcome["status"], outcome["result"], outcome["stdout"]), ("completed", 42, "hi\n"))

    def test_an_error_in_the_code_is_a_result(self):
        client = self.client()
        client.initialize()
        for code, status in (("1/0", "failed"), ("import os\nos.system('x')", "rejected"), ("if", "rejected")):
            result = client.run_code(code)
            self.assertTrue(result["isError"], code)
            self.assertEqual(result["structuredContent"]["status"], status, code)

    def test_bad_arguments_are_a_result_that_says_what_to_change(self):
        client = self.client()
        client.initialize()
        for arguments in ({}, {"code": 1}, {"code": None}, {"code": "1", "limits": {"wall_seconds": "x"}},
                          {"code": "1", "limits": {"wall_seconds": 1e9}}, {"code": "1", "limits": {"other": 1}},
                          {"code": "1", "session": 5}, {"code": "1", "session": "s", "restart": "yes"},
                          {"code": "1", "resart": True}):
            result = client.result("tools/call", {"name": "execute_code", "arguments": arguments})
            self.assertTrue(result["isError"], arguments)
            self.assertTrue(self.texts(result)[0], arguments)

    def test_sessions_keep_variables(self):
        client = self.client()
        client.initialize()
        call = lambda code: client.result("tools/call", {"name": "execute_code",
                                                         "arguments": {"code": code, "session": "s"}})
        self.assertFalse(call("x = 20")["isError"])
        self.assertEqual(call("x + 1")["structuredContent"]["result"], 21)

    def test_a_session_is_forked(self):
        for engine in ("wasm", "native", "auto"):
            with self.subTest(engine=engine):
                if engine == "native" and tier.REFUSED:
                    self.skipTest(tier.REFUSED)
                client = self.client("--engine", engine)
                client.initialize()
                call = lambda code, **more: client.result("tools/call", {"name": "execute_code",
                                                                         "arguments": {"code": code, **more}})
                call("x = [1]; open('/tmp/f', 'w').write('a')", session="a")
                forked = call("x.append(2); open('/tmp/f', 'a').write('b'); x", session="b", fork_of="a")
                self.assertEqual(forked["structuredContent"]["result"], [1, 2])
                for session, seen in (("a", [[1], "a"]), ("b", [[1, 2], "ab"])):
                    result = call("[x, open('/tmp/f').read()]", session=session)
                    self.assertEqual(result["structuredContent"]["result"], seen)
                for more, why in (({"session": "b", "fork_of": "a"}, 'there is a session "b" already'),
                                  ({"session": "c", "fork_of": "d"}, 'there is no session "d"'),
                                  ({"fork_of": "a"}, '"fork_of" is what a new "session" begins as')):
                    result = call("1", **more)
                    self.assertTrue(result["isError"], more)
                    self.assertIn(why, self.texts(result)[0])

    def test_an_unknown_argument_is_named(self):
        client = self.client()
        client.initialize()
        result = client.result("tools/call", {"name": "execute_code", "arguments": {"code": "1", "timeout": 5}})
        self.assertTrue(result["isError"])
        self.assertIn("timeout", self.texts(result)[0])

    def test_a_restart_of_no_session_is_refused(self):
        client = self.client()
        client.initialize()
        call = lambda **more: client.result("tools/call", {"name": "execute_code", "arguments": {"code": "1", **more}})
        result = call(restart=True)
        self.assertTrue(result["isError"])
        self.assertIn('"restart" is about a "session"', self.texts(result)[0])
        self.assertEqual(call(restart=False)["structuredContent"]["result"], 1)

    def test_empty_code_completes(self):
        client = self.client()
        client.initialize()
        for code in ("", "  \n"):
            self.assertEqual(client.run_code(code)["structuredContent"]["status"], "completed")

    def test_a_lost_session_says_why_and_begins_afresh_when_asked_to(self):
        self.put("tool.toml", '[[tool]]\nname = "send"\nkind = "command"\ncommand = ["true"]\napproval = "always"\n'
                              '[store]\nurl = "memory:"\n')
        client = self.client("--config", "tool.toml")
        client.initialize()
        call = lambda code, **more: client.result("tools/call", {"name": "execute_code", "arguments": {
            "code": code, "session": "s", **more}})["structuredContent"]
        self.assertEqual(call("x = 1")["status"], "completed")
        self.assertEqual(call("while True: pass", limits={"wall_seconds": 1})["reason"], "wall_time")
        lost = call("x")
        self.assertEqual(lost["error"]["type"], "SessionLost")
        self.assertIn("limit (wall_time)", lost["error"]["message"])
        self.assertEqual(call("2", restart=True)["result"], 2)
        self.assertEqual(call("3")["result"], 3)

    def test_the_description_lists_the_packages_of_engine_native(self):
        if not has_package("numpy"):
            self.skipTest("no numpy here")
        for engine, listed in (("auto", True), ("wasm", False)):
            client = self.client("--engine", engine)
            client.initialize()
            tool = next(t for t in client.result("tools/list")["tools"] if t["name"] == "execute_code")
            self.assertEqual("numpy" in tool["description"], listed, tool["description"])

    def test_errors_have_the_codes_of_the_protocol(self):
        client = self.client()
        client.initialize()
        for method, params, code in (("no/such", None, -32601), ("server/nothing", {}, -32601),
                                     ("tools/call", {}, -32602), ("tools/call", {"name": 5}, -32602),
                                     ("tools/call", {"name": "nobody"}, -32602),
                                     ("tools/call", {"name": "execute_code", "arguments": []}, -32602),
                                     ("tools/list", {"cursor": "x"}, -32602),
                                     ("logging/setLevel", {"level": "loud"}, -32602),
                                     ("initialize", {}, -32602)):
            message = client.request(method, params)
            self.assertEqual(message["error"]["code"], code, (method, params))

    def test_a_batch_is_answered_together_in_the_version_that_has_them(self):
        client = self.client()
        client.initialize("2025-03-26")
        call = {"name": "execute_code", "arguments": {"code": "6 * 7"}}
        client.send_line(json.dumps([
            {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": call},
            {"jsonrpc": "2.0", "method": "notifications/odd"}, 7,
            {"jsonrpc": "2.0", "id": "b", "method": "ping"}]))
        answers = json.loads(client.lines.get(timeout=PATIENCE))
        self.assertEqual(len(answers), 3)
        by_id = {answer.get("id"): answer for answer in answers}
        self.assertEqual(by_id["a"]["result"]["structuredContent"]["result"], 42)
        self.assertEqual(by_id["b"]["result"], {})
        self.assertEqual(by_id[None]["error"]["code"], -32600)
        # A message that wants no answer gets none, not even an empty one.
        client.send_line(json.dumps([{"jsonrpc": "2.0", "method": "notifications/odd"}]))
        self.assertEqual(client.result("ping"), {})
        for text in ("[]", json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 65)):
            client.send_line(text)
            self.assertEqual(client.receive()["error"]["code"], -32600)

    def test_other_versions_have_no_batches(self):
        client = self.client()
        client.initialize("2025-06-18")
        client.send_line(json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]))
        self.assertIn("2025-03-26", client.receive()["error"]["message"])

    def test_a_cancelled_request_ends_its_run_and_is_not_answered(self):
        client = self.client()
        client.initialize()
        running = client.ask("tools/call", {"name": "execute_code", "_meta": {"progressToken": "p"},
                                            "arguments": {"code": "print('up', flush=True)\nwhile True: pass"}})
        self.assertEqual(client.receive()["method"], "notifications/progress")
        client.send(method="notifications/cancelled", params={"requestId": running, "reason": "enough"})
        self.assertEqual(client.result("ping"), {})
        self.assertEqual([m for m in client.heard if m.get("id") == running], [])
        self.assertEqual(client.run_code("1 + 1")["structuredContent"]["result"], 2)

    def test_progress_shows_the_tail_of_the_output(self):
        client = self.client()
        client.initialize()
        code = "for i in range(3):\n    print('line', i, flush=True)"
        client.run_code(code, _meta={"progressToken": 7})
        told = [m["params"] for m in client.heard if m["method"] == "notifications/progress"]
        self.assertGreater(len(told), 0)
        self.assertEqual({p["progressToken"] for p in told}, {7})
        self.assertEqual(sorted({p["progress"] for p in told}), [p["progress"] for p in told], "must grow")
        self.assertIn("line 2", told[-1]["message"])
        client.run_code(code)
        self.assertEqual(client.heard, [], "told without having been asked")

    def test_output_is_logged_to_those_who_want_to_hear_it(self):
        client = self.client()
        client.initialize()
        client.run_code("print('one')")
        self.assertEqual(client.heard, [])
        client.result("logging/setLevel", {"level": "debug"})
        client.run_code("print('héllo')")
        logged = [m["params"] for m in client.heard if m["method"] == "notifications/message"]
        self.assertEqual("".join(p["data"] for p in logged), "héllo\n")
        self.assertEqual({(p["level"], p["logger"]) for p in logged}, {("debug", "stdout")})

    def test_requests_are_served_side_by_side(self):
        client = self.client()
        client.initialize()
        slow = client.ask("tools/call", {"name": "execute_code", "arguments": {"code": "while True: pass",
                                         "limits": {"wall_seconds": 1}}})
        self.assertEqual(client.result("ping"), {})
        self.assertEqual([m.get("id") for m in client.heard], [])
        self.assertEqual(client.reply_to(slow)["result"]["structuredContent"]["reason"], "wall_time")


class ModernEra(McpTest):
    def test_discovers(self):
        client = self.client()
        result = client.result("server/discover", modern())
        self.assertEqual(result["supportedVersions"][0], "2026-07-28")
        self.assertEqual(result["resultType"], "complete")
        self.assertGreaterEqual(result["ttlMs"], 0)
        self.assertEqual(result["_meta"][META + "serverInfo"]["name"], "caisson")

    def test_runs_code_without_a_handshake(self):
        client = self.client()
        result = client.result("tools/call", modern({"name": "execute_code", "arguments": {"code": "6*7"}}))
        self.assertEqual(result["structuredContent"]["result"], 42)
        self.assertEqual(result["resultType"], "complete")

    def test_refuses_what_the_era_does_not_have(self):
        client = self.client()
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe"):
            self.assertEqual(client.request(method, modern({"level": "info"}))["error"]["code"], -32601, method)
        self.assertEqual(client.request("server/discover")["error"]["code"], -32602)
        wrong = {"_meta": {META + "protocolVersion": "2031-01-01", META + "clientCapabilities": {}}}
        error = client.request("tools/list", wrong)["error"]
        self.assertEqual(error["code"], -32022)
        self.assertIn("2026-07-28", error["data"]["supported"])
        self.assertEqual(error["data"]["requested"], "2031-01-01")
        lacks = {"_meta": {META + "protocolVersion": "2026-07-28"}}
        self.assertEqual(client.request("tools/list", lacks)["error"]["code"], -32602)

    def test_logs_only_to_requests_that_ask(self):
        client = self.client()
        call = {"name": "execute_code", "arguments": {"code": "print('x')"}}
        client.result("tools/call", modern(call))
        self.assertEqual(client.heard, [])
        client.result("tools/call", modern(call, logLevel="debug"))
        self.assertEqual([m["method"] for m in client.heard], ["notifications/message"])

    def test_both_eras_in_one_connection(self):
        client = self.client()
        client.result("server/discover", modern())
        client.initialize()
        self.assertNotIn("resultType", client.result("tools/list"))
        self.assertIn("resultType", client.result("tools/list", modern()))


class Approvals(McpTest):
    """A command that leaves a mark, and needs an approval."""

    CODE = "r = mark(what='a')\nprint('after', r)\nr"

    def setUp(self):
        super().setUp()
        self.put("mark.py", "import json, sys\nopen('marks', 'a').write(json.load(sys.stdin)['what'])\nprint('\"marked\"')\n")
        self.config = self.put("caisson.toml", f"""
[store]
url = "memory:"
[[tool]]
name = "mark"
kind = "command"
command = ["{sys.executable}", "mark.py"]
approval = "always"
input_schema = {{ type = "object", properties = {{ what = {{ type = "string" }} }}, required = ["what"] }}
""")
        self.kept.add("marks")

    def marks(self):
        path = self.work / "marks"
        return path.read_text() if path.exists() else ""

    def call(self, **more):
        return {"name": "execute_code", "arguments": {"code": self.CODE}, **more}

    def modern_call(self, **more):
        params = modern(self.call(**more))
        params["_meta"][META + "clientCapabilities"] = {"elicitation": {}}
        return params

    def test_a_legacy_client_is_asked_while_it_waits(self):
        for answer, marks, status in (({"action": "decline"}, "", "failed"),
                                      ({"action": "accept", "content": {"approved": True}}, "a", "completed")):
            client = self.client("--config", self.config)
            client.initialize(elicitation={})
            request = client.ask("tools/call", self.call())
            question = client.receive()
            self.assertEqual(question["method"], "elicitation/create")
            self.assertIn("mark", question["params"]["message"])
            self.assertIn('"a"', question["params"]["message"])
            self.assertEqual(self.marks(), "", "done before anybody said yes")
            client.send(id=question["id"], result=answer)
            outcome = client.reply_to(request)["result"]["structuredContent"]
            self.assertEqual((outcome["status"], self.marks()), (status, marks), outcome)

    def test_a_modern_client_comes_back_with_the_answer(self):
        client = self.client("--config", self.config)
        asked = client.result("tools/call", self.modern_call())
        self.assertEqual(asked["resultType"], "input_required")
        (key, question), = asked["inputRequests"].items()
        self.assertEqual(question["method"], "elicitation/create")
        yes = {key: {"action": "accept", "content": {"approved": True}}}
        state = asked["requestState"]
        tampered = state[:-2] + ("AA" if state[-2:] != "AA" else "BB")
        refused = client.request("tools/call", self.modern_call(inputResponses=yes, requestState=tampered))
        self.assertEqual(refused["error"]["code"], -32602)
        self.assertEqual(self.marks(), "")
        result = client.result("tools/call", self.modern_call(inputResponses=yes, requestState=state))
        self.assertEqual(result["structuredContent"]["result"], "marked")
        again = client.request("tools/call", self.modern_call(inputResponses=yes, requestState=state))
        self.assertEqual(again["error"]["code"], -32602)
        self.assertEqual(self.marks(), "a")

    def test_a_client_that_cannot_be_asked_is_told_who_can(self):
        client = self.client("--config", self.config)
        client.initialize()
        result = client.result("tools/call", self.call())
        outcome = result["structuredContent"]
        self.assertEqual(outcome["status"], "waiting")
        self.assertIn("caisson approvals approve " + outcome["approvals"][0]["id"], self.texts(result)[-1])
        waited = client.result("tools/call", {"name": "wait_for_run", "arguments": {
            "run_id": outcome["run_id"], "timeout_seconds": 0}})
        self.assertEqual(waited["structuredContent"]["status"], "waiting")
        other = client.result("tools/call", {"name": "wait_for_run", "arguments": {"run_id": "run_x"}})
        self.assertTrue(other["isError"])
        self.assertEqual(self.marks(), "")


class HostileClients(McpTest):
    def test_nonsense_gets_an_error_and_nothing_breaks(self):
        client = self.client()
        for line, code in ((b"{", -32700), (b"\xff\xfe", -32700), (b"[]", -32600), (b"5", -32600), (b"{}", -32600),
                           (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                           (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
                           (b"[" * 100000, -32700)):
            client.send_line(line + b"\n")
            self.assertEqual(client.receive()["error"]["code"], code, line[:60])
        # An answer to no request.
        client.send_line(b'{"jsonrpc":"2.0","id":99,"result":{}}\n')
        client.send_line(b'{"jsonrpc":"2.0","method":"notifications/odd"}\n')
        client.send_line(b"\n\r\n   \n")
        self.assertEqual(client.result("ping"), {})

    def test_a_line_too_long_is_dropped(self):
        client = self.client()
        client.send_line(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (17 << 20) + b'"}}\n')
        self.assertEqual(client.receive()["error"]["code"], -32600)
        self.assertEqual(client.result("ping"), {})

    def test_one_id_twice_is_refused(self):
        client = self.client()
        call = {"name": "execute_code", "arguments": {"code": "while True: pass", "limits": {"wall_seconds": 1}}}
        client.send(id="same", method="tools/call", params=call)
        client.send(id="same", method="ping")
        self.assertEqual(client.receive()["error"]["code"], -32600)
        self.assertEqual(client.receive()["result"]["structuredContent"]["reason"], "wall_time")

    def test_a_flood_of_requests_is_bounded(self):
        client = self.client()
        call = {"name": "execute_code", "arguments": {"code": "while True: pass", "limits": {"wall_seconds": 2}}}
        for number in range(100):
            client.send(id=number, method="tools/call", params=call)
        refused = [client.receive() for _ in range(36)]
        self.assertEqual({m["error"]["code"] for m in refused}, {-32600})

    def test_a_client_that_does_not_read_stalls_nobody_and_is_left(self):
        process = self.start("mcp", stdin=subprocess.PIPE)
        call = {"jsonrpc": "2.0", "method": "tools/call",
                "params": {"name": "execute_code", "arguments": {"code": "print('x' * 60000)"}}}
        for number in range(20):
            process.stdin.write(json.dumps({**call, "id": number}).encode() + b"\n")
            process.stdin.flush()
        process.stdin.close()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=PATIENCE), 0)


class Endings(McpTest):
    def test_ends_when_the_client_closes(self):
        client = self.client()
        client.initialize()
        self.assertEqual(client.close(), 0)
        self.assertEqual(client.process.stderr.read(), b"")

    def test_answers_what_was_asked_before_the_end(self):
        done = self.caisson("mcp", code=b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                            b'{"name":"execute_code","arguments":{"code":"6*7"}}}\n')
        self.assertEqual(json.loads(done.out)["result"]["structuredContent"]["result"], 42)

    def test_leaves_no_process_when_the_client_goes_during_a_run(self):
        client = self.client()
        client.ask("tools/call", {"name": "execute_code", "_meta": {"progressToken": 1},
                                  "arguments": {"code": "print(1, flush=True)\nwhile True: pass"}})
        client.receive()
        begun = time.monotonic()
        self.assertEqual(client.close(), 0)
        self.assertLess(time.monotonic() - begun, 5, "the run's own limit would be ten seconds")

    def test_signals_end_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            client = self.client()
            client.initialize()
            client.process.send_signal(number)
            self.assertEqual(client.process.wait(timeout=PATIENCE), 128 + number)

    def test_dies_with_everything_when_killed(self):
        client = self.client()
        client.initialize()
        client.process.kill()
        client.process.wait()

    def test_a_wrong_configuration_is_told_on_stderr(self):
        done = self.caisson("mcp", "--config", self.put("c.toml", "[limits]\nwall_seconds = 'x'\n"), code=b"")
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertIn(b"wall_seconds", done.err)

    def test_starts_in_a_tenth_of_a_second(self):
        times = []
        for _ in range(5):
            begun = time.monotonic()
            client = self.client()
            client.initialize()
            times.append(time.monotonic() - begun)
            client.close()
        self.assertLess(min(times), 0.1 * SLOWDOWN)


if __name__ == "__main__":
    run_suite(sys.modules[__name__])
