"""Slow calls of upstream servers: their progress, and the cancellation they get when nobody waits
any more."""

import __main__
import http.server
import json
import queue
import subprocess
import sys
import threading

import harness
import mcp
import mcp_http
import serve

PACE = 0.5  # Seconds between two messages of a slow server.
FLOOD = int(50000 / harness.SLOWDOWN)
MODERN = "2026-07-28"

# Does what the name of the tool says, and records the messages that it gets.
SERVER = r'''
import json, sys, threading
PACE, FLOOD = float(sys.argv[1]), int(sys.argv[2])

def send(**fields): print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)
def tell(token, done, **more):
    send(method="notifications/progress", params={"progressToken": token, "progress": done, **more})

def work(name, id, token):
    pause = threading.Event()
    if name == "flood":
        for step in range(FLOOD): tell(token, step)
    for step in range(1, 7 if name in ("slow", "mute", "liar") else 10000 if name == "endless" else 1):
        if name in ("slow", "endless"): tell(token, step, total=6, message="step " + str(step))
        if name == "liar":
            for said in ("x", None, [], float("nan"), 1e999): tell(token, said)
            tell("another", step); tell(None, step); tell([token], step)
        pause.wait(PACE)
    send(id=id, result={"content": [], "structuredContent": {"token": token}})

for line in sys.stdin:
    m = json.loads(line)
    method, params = m.get("method"), m.get("params", {})
    with open("heard", "a") as log: print(json.dumps(m), file=log)
    if method == "initialize":
        send(id=m["id"], result={"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}})
    elif method == "tools/list":
        send(id=m["id"], result={"tools": [{"name": n, "inputSchema": {"type": "object"}}
                                           for n in ("slow", "mute", "liar", "endless", "flood")]})
    elif method == "tools/call":
        token = params.get("_meta", {}).get("progressToken")
        threading.Thread(target=work, args=(params["name"], m["id"], token), daemon=True).start()
'''


class Handler(http.server.BaseHTTPRequestHandler):
    """A server behind a URL, of either era, whose answers are streams."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = self.message.get("method")
        modern = self.headers.get("MCP-Protocol-Version") == MODERN
        self.server.heard.put((method, self.message))
        if "id" not in self.message or method is None:
            return self.reply(202, b"")
        if modern != self.server.modern:
            return self.reply(400, b"")
        if method in ("initialize", "server/discover"):
            return self.answer({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}})
        if method == "tools/list":
            names = ("slow", "endless", "open", "asks")
            return self.answer({"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in names]})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        try:
            self.work(self.message["params"]["name"], self.message["params"]["_meta"]["progressToken"])
        except OSError:
            self.server.heard.put(("gone", self.message))

    def work(self, name, token):
        for step in range(1, {"slow": 7, "endless": 10000}.get(name, 1)):
            self.event(method="notifications/progress", params={"progressToken": token, "progress": step})
            self.server.release.wait(PACE)
        if name == "asks":
            self.event(id="q", method="ping")
            while self.server.heard.get(timeout=harness.PATIENCE)[1].get("id") != "q":
                pass
        self.event(id=self.message["id"], result={"content": [], "structuredContent": {"token": token}})
        if name == "open":
            self.server.release.wait(harness.PATIENCE)

    def event(self, **fields):
        self.wfile.write(b"event: message\ndata: " + json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n\n")
        self.wfile.flush()

    def answer(self, result):
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": self.message["id"], "result": result}).encode())

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def messages_of(heard):
    return [message["params"].get("message", "") for message in heard
            if message.get("method") == "notifications/progress"]


class UpstreamProgress(serve.Serve):
    def programs(self, *lines):
        self.put("server.py", SERVER)
        self.kept.add("heard")
        return "\n".join([serve.MEMORY + "[[upstream]]", 'name = "up"',
                          f'command = ["{sys.executable}", "server.py", "{PACE}", "{FLOOD}"]', *lines, ""])

    def url(self, *lines, modern=False):
        server = self.upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # Clients that disconnect are part of the test.
        server.modern, server.heard, server.release = modern, queue.Queue(), threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.release.set)
        return "\n".join([serve.MEMORY + "[[upstream]]", 'name = "up"',
                          f'url = "http://127.0.0.1:{server.server_port}/mcp"', *lines, ""])

    def outcome(self, code, config):
        self.put("run.toml", config)
        return self.caisson("run", "--json", "--config", "run.toml", "--limit", "wall_seconds=60", code=code).outcome

    def error(self, code, config):
        return self.outcome(code, config)["error"]["message"]

    def heard(self):
        return [json.loads(line) for line in (self.work / "heard").read_text().splitlines()]

    def heard_behind_url(self, wanted):
        while True:
            method, message = self.upstream.heard.get(timeout=harness.PATIENCE)
            if method == wanted:
                return message

    def test_progress_gives_a_call_its_time_anew(self):
        for config in (self.programs("timeout_seconds = 1.5"), self.url("timeout_seconds = 1.5"),
                       self.url("timeout_seconds = 1.5", modern=True)):
            outcome = self.outcome("up_slow()", config)
            self.assertEqual(outcome["status"], "completed", outcome)

    def test_one_that_tells_nothing_or_nonsense_has_its_time_once(self):
        for tool in ("mute", "liar"):
            self.assertIn("did not answer within 1.5 s",
                          self.error(f"up_{tool}()", self.programs("timeout_seconds = 1.5")))

    def test_not_for_ever(self):
        limits = ("timeout_seconds = 1.5", "longest_seconds = 2")
        for config in (self.programs(*limits), self.url(*limits)):
            self.assertIn("did not answer within 2.0 s", self.error("up_endless()", config))

    def test_a_program_hears_that_nobody_waits(self):
        code = "try:\n    up_mute()\nexcept ToolError:\n    r = up_flood()\nr"
        self.assertEqual(self.outcome(code, self.programs("timeout_seconds = 1"))["status"], "completed")
        asked = [message["id"] for message in self.heard() if message.get("params", {}).get("name") == "mute"]
        told = [message["params"]["requestId"] for message in self.heard()
                if message["method"] == "notifications/cancelled"]
        self.assertEqual(told, asked)

    def test_a_server_of_the_old_era_behind_a_url_hears_it_too(self):
        process = self.serve(self.url("timeout_seconds = 60"))
        run = self.ask("POST", "/v1/runs", {"code": "up_endless()", "wait": False}).json
        call = self.heard_behind_url("tools/call")
        self.ask("POST", f"/v1/runs/{run['id']}/cancel", {})
        self.assertEqual(self.heard_behind_url("notifications/cancelled")["params"]["requestId"], call["id"])
        self.stop(process)

    def test_one_of_the_new_era_sees_the_connection_close(self):
        process = self.serve(self.url("timeout_seconds = 60", modern=True))
        run = self.ask("POST", "/v1/runs", {"code": "up_endless()", "wait": False}).json
        call = self.heard_behind_url("tools/call")
        self.ask("POST", f"/v1/runs/{run['id']}/cancel", {})
        heard = []
        while (entry := self.upstream.heard.get(timeout=harness.PATIENCE)) != ("gone", call):
            heard.append(entry[0])
        self.assertEqual(heard, [])
        self.stop(process)

    def test_an_answer_is_taken_when_it_comes_not_when_the_stream_ends(self):
        self.assertEqual(self.outcome("up_open()", self.url())["status"], "completed")

    def test_a_server_behind_a_url_that_asks_is_answered(self):
        self.assertEqual(self.outcome("up_asks()", self.url())["status"], "completed")

    def test_a_client_that_wants_progress_hears_of_it(self):
        self.put("run.toml", self.programs())
        client = mcp.Client(self, self.start("mcp", "--config", "run.toml", stdin=subprocess.PIPE))
        client.initialize()
        result = client.run_code("print('begun')\nup_slow()", _meta={"progressToken": "p"})
        self.assertFalse(result["isError"], result)
        said = messages_of(client.heard)
        self.assertTrue(any("up_slow: 2/6 step 2" in message for message in said), said)
        self.assertTrue(all(message.startswith("begun\n") for message in said), said)
        steps = [message["params"]["progress"] for message in client.heard]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual({message["params"]["progressToken"] for message in client.heard}, {"p"})
        # A client that did not ask gets nothing, and a flood is reduced.
        client.run_code("up_slow()")
        self.assertEqual(client.heard, [])
        self.assertFalse(client.run_code("up_flood()", _meta={"progressToken": "q"})["isError"])
        self.assertLess(len(client.heard), 1000)
        self.assertEqual(client.close(), 0)

    def test_over_http_in_both_eras(self):
        process = self.serve(self.url())
        call = {"name": "execute_code", "arguments": {"code": "up_slow()"}}
        client = mcp_http.Client(self.port)
        client.initialize()
        answers = [client.legacy("tools/call", {**call, "_meta": {"progressToken": 7}}),
                   client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                       **call, "_meta": {**mcp_http.modern()["_meta"], "progressToken": 7}}},
                       MCP_Protocol_Version=MODERN, Mcp_Method="tools/call", Mcp_Name="execute_code")]
        for answer in answers:
            self.assertFalse(answer.message["result"]["isError"], answer.body)
            self.assertIn(b"up_slow: 3", answer.body)
        self.stop(process)


if __name__ == "__main__":
    harness.run_suite(__main__)
