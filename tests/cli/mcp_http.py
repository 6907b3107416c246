"""MCP over HTTP with two users and some attackers: /mcp of caisson serve."""

import base64
import concurrent.futures
import http.client
import json
import re
import signal
import socket
import sqlite3
import sys

import serve
from harness import CliTest, PATIENCE, run_suite

META = "io.modelcontextprotocol/"
KEYS = {"ann": serve.ANN, "bob": serve.BOB}
CONFIG = serve.MEMORY + serve.KEYS
HEAD = (f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEYS['bob']}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n")


def modern(params=None):
    return {**(params or {}), "_meta": {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}}


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def message(self):
        """The JSON-RPC answer, from a body of either kind."""
        if self.headers.get("Content-Type", "").startswith("text/event-stream"):
            return json.loads(re.findall(rb"^data: (.*)$", self.body, re.MULTILINE)[-1])
        return json.loads(self.body)


class Client:
    """One connection, kept."""

    def __init__(self, port, user=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.user, self.session = user, None

    def __del__(self):
        self.connection.close()

    def send(self, verb, body=None, path="/mcp", **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.user:
            headers.setdefault("Authorization", "Bearer " + KEYS[self.user])
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        headers.setdefault("Accept", "application/json, text/event-stream")
        self.connection.request(verb, path, body, {k: v for k, v in headers.items() if v is not None})
        return Answer(self.connection.getresponse())

    def post(self, message, **headers):
        return self.send("POST", json.dumps(message), **headers)

    def modern(self, method, params=None, **headers):
        headers.setdefault("MCP_Protocol_Version", "2026-07-28")
        headers.setdefault("Mcp_Method", method)
        name = (params or {}).get("uri" if method == "resources/read" else "name")
        if name is not None and method in ("tools/call", "prompts/get", "resources/read"):
            headers.setdefault("Mcp_Name", name)
        return self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": modern(params)}, **headers)

    def run(self, code):
        return self.modern("tools/call", {"name": "execute_code", "arguments": {"code": code}}).message["result"]

    def initialize(self):
        answer = self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
        self.session = answer.headers["Mcp-Session-Id"]
        return answer

    def legacy(self, method, params=None, **headers):
        headers.setdefault("Mcp_Session_Id", self.session)
        return self.post({"jsonrpc": "2.0", "id": 2, "method": method, "params": params or {}}, **headers)


class McpHttp(CliTest):
    def serve(self, config=CONFIG):
        for user, key in KEYS.items():
            self.put(user + ".key", key)
        process = self.start("serve", "--listen", "127.0.0.1:0", "--config", self.put("caisson.toml", config))
        self.port = int(process.stdout.readline().decode().rsplit(":", 1)[1])
        self.process = process

    def tearDown(self):
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(timeout=PATIENCE), 0)
        super().tearDown()

    def test_nobody_gets_in_without_a_key(self):
        self.serve()
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic " + KEYS["ann"]}):
            answer = Client(self.port).modern("tools/list", **headers)
            self.assertEqual(answer.status, 401, headers)
            where = re.search(r'resource_metadata="http://[^/]+(/[^"]+)"', answer.headers["WWW-Authenticate"])[1]
            metadata = Client(self.port).send("GET", path=where)
            self.assertEqual(metadata.status, 200)
            self.assertTrue(json.loads(metadata.body)["resource"].endswith("/mcp"))

    def test_one_user_sees_nothing_of_another(self):
        self.serve()
        ann, bob = Client(self.port, "ann"), Client(self.port, "bob")
        result = ann.run("open('/output/a.txt', 'w').write('secret')\n1")
        uri = next(block["uri"] for block in result["content"] if block["type"] == "resource_link")
        read = lambda client, what: client.modern("resources/read", {"uri": what})
        self.assertEqual(read(ann, uri).message["result"]["contents"][0]["text"], "secret")
        nothing = uri.replace("run_", "run_x")
        stolen, missing = read(bob, uri), read(bob, nothing)
        self.assertEqual(stolen.status, missing.status)
        self.assertEqual(stolen.body.replace(uri.encode(), b"URI"), missing.body.replace(nothing.encode(), b"URI"))
        self.assertEqual(bob.modern("resources/list").message["result"]["resources"], [])
        self.assertEqual(len(ann.modern("resources/list").message["result"]["resources"]), 1)
        wait = lambda client, run: client.modern("tools/call", {"name": "wait_for_run", "arguments": {"run_id": run}})
        run = result["structuredContent"]["run_id"]
        self.assertEqual(wait(bob, run).body, wait(bob, "run_x").body)

    def test_a_session_is_its_owner_s(self):
        self.serve()
        ann, bob = Client(self.port, "ann"), Client(self.port, "bob")
        self.assertEqual(ann.initialize().status, 200)
        self.assertRegex(ann.session, r"^[\x21-\x7e]{20,}$")
        self.assertEqual(ann.legacy("ping").message["result"], {})
        stolen = bob.legacy("ping", Mcp_Session_Id=ann.session)
        missing = bob.legacy("ping", Mcp_Session_Id="x" * len(ann.session))
        self.assertEqual((stolen.status, stolen.body), (missing.status, missing.body))
        self.assertEqual(stolen.status, 404)
        self.assertEqual(bob.send("DELETE", Mcp_Session_Id=ann.session).status, 404)
        self.assertEqual(ann.legacy("ping", Mcp_Session_Id=None).status, 400)
        self.assertEqual(ann.send("DELETE", Mcp_Session_Id=ann.session).status, 204)
        self.assertEqual(ann.legacy("ping").status, 404)

    def test_batches(self):
        self.serve()
        ann, bob = Client(self.port, "ann"), Client(self.port, "bob")
        ping = {"jsonrpc": "2.0", "method": "ping"}
        for version, status in (("2025-03-26", 200), ("2025-06-18", 400)):
            ann.session = ann.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": version, "capabilities": {}}}).headers["Mcp-Session-Id"]
            answer = ann.post([{**ping, "id": 1}, ping, {**ping, "id": "b"}, 7], Mcp_Session_Id=ann.session)
            self.assertEqual(answer.status, status, answer.body)
            if status == 400:
                continue
            answers = {each.get("id"): each for each in json.loads(answer.body)}
            self.assertEqual((answers[1]["result"], answers["b"]["result"]), ({}, {}))
            self.assertEqual((len(answers), answers[None]["error"]["code"]), (3, -32600))
            self.assertEqual(ann.post([ping], Mcp_Session_Id=ann.session).status, 202)
            self.assertEqual(bob.post([{**ping, "id": 1}], Mcp_Session_Id=ann.session).status, 404)
        self.assertEqual(ann.post([{**ping, "id": 1}]).status, 400)

    def test_headers_must_say_what_the_body_says(self):
        self.serve()
        ann = Client(self.port, "ann")
        call = {"name": "execute_code", "arguments": {"code": "1"}}
        for headers in ({"Mcp_Method": "tools/list"}, {"Mcp_Method": None}, {"Mcp_Name": "other"}, {"Mcp_Name": None},
                        {"Mcp_Name": "=?base64?!?="}, {"MCP_Protocol_Version": "2025-06-18"}):
            answer = ann.modern("tools/call", call, **headers)
            self.assertEqual((answer.status, answer.message["error"]["code"]), (400, -32020), headers)
        self.assertEqual(ann.modern("tools/call", call, Mcp_Name="=?base64?ZXhlY3V0ZV9jb2Rl?=").status, 200)
        self.assertEqual(ann.modern("ping").status, 404)

    def test_foreign_and_malformed_requests_are_refused(self):
        self.serve('[store]\nurl = "memory:"\n')
        client = Client(self.port)
        self.assertEqual(client.modern("tools/list").status, 200)
        self.assertEqual(client.modern("tools/list", Origin="http://evil.example").status, 403)
        self.assertIn(client.modern("tools/list", Host="evil.example").status, (403, 421))
        self.assertEqual(client.send("GET").status, 405)
        self.assertEqual(client.send("POST", "{}", Content_Type="text/plain").status, 415)
        self.assertEqual(client.send("POST", "{").status, 400)
        self.assertEqual(client.send("POST", "[" * 100000).status, 400)
        self.assertEqual(client.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status, 400)

    def test_requests_that_are_too_big_are_refused(self):
        self.serve()
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall((HEAD + f"Content-Length: {17 << 20}\r\n\r\n").encode())
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 413 "))
        ann = Client(self.port, "ann")
        self.assertEqual(ann.run("#" * 100_000)["structuredContent"]["status"], "rejected")
        deep = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": ' + '{"a":' * 50_000 + "1" + "}" * 50_001
        self.assertEqual(ann.send("POST", deep).status, 400)
        self.assertEqual(ann.run("1 + 1")["structuredContent"]["result"], 2)

    def test_slow_clients_stall_nobody(self):
        self.serve()
        params = modern({"name": "execute_code", "arguments": {"code": "for i in range(60000): print(i)"}})
        params["_meta"]["progressToken"] = 1
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        deaf = (HEAD + "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: execute_code\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}")
        # Half of a head, half of a body, and an answer that nobody reads.
        slow = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(60)]
        for connection, text in zip(slow, [HEAD[:40], HEAD + "Content-Length: 100\r\n\r\n{", deaf] * 20):
            connection.sendall(text.encode())
        ann = Client(self.port, "ann")
        self.assertEqual([ann.run(f"{i} + 1")["structuredContent"]["result"] for i in range(20)], list(range(1, 21)))
        for connection in slow:
            connection.close()

    def test_pictures_are_shown(self):
        self.serve()
        picture = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
                                   "gg==")
        result = Client(self.port, "ann").run(f"open('/output/dot.png', 'wb').write({picture!r})")
        images = [block for block in result["content"] if block["type"] == "image"]
        self.assertEqual([(image["mimeType"], base64.b64decode(image["data"])) for image in images],
                         [("image/png", picture)])
        self.assertIn("resource_link", [block["type"] for block in result["content"]])

    def serve_gated(self):
        self.put("send.sh", "#!/bin/sh\ncat > /dev/null\necho x >> sent\necho '\"sent\"'\n")
        (self.work / "send.sh").chmod(0o755)
        self.kept.add("sent")
        self.serve(CONFIG + serve.SEND)

    def sent(self):
        path = self.work / "sent"
        return len(path.read_text().split()) if path.exists() else 0

    def test_a_request_state_is_its_caller_s_and_used_once(self):
        self.serve_gated()
        ann, bob = Client(self.port, "ann"), Client(self.port, "bob")

        def call(client, code="send(to='x')", **more):
            params = modern({"name": "execute_code", "arguments": {"code": code}, **more})
            params["_meta"][META + "clientCapabilities"] = {"elicitation": {}}
            return client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
                               MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call",
                               Mcp_Name="execute_code").message
        asked = call(ann)["result"]
        self.assertEqual(asked["resultType"], "input_required", asked)
        answers = {"inputResponses": {key: {"action": "accept", "content": {"approved": True}}
                                      for key in asked["inputRequests"]}, "requestState": asked["requestState"]}
        for stranger in (call(bob, **answers), call(ann, "send(to='y')", **answers),
                         call(ann, **{**answers, "requestState": "x" + asked["requestState"]})):
            self.assertEqual(stranger["error"]["code"], -32602)
        self.assertEqual(self.sent(), 0)
        self.assertEqual(call(ann, **answers)["result"]["structuredContent"]["result"], "sent")
        self.assertEqual(call(ann, **answers)["error"]["code"], -32602)
        self.assertEqual(self.sent(), 1)

    def test_a_legacy_client_is_asked_on_its_stream(self):
        self.serve_gated()
        ann, answering = Client(self.port, "ann"), Client(self.port, "ann")
        ann.session = answering.session = ann.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}}).headers["Mcp-Session-Id"]
        ann.connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "execute_code", "arguments": {"code": "send(to='x')"}}}), {
                "Authorization": "Bearer " + KEYS["ann"], "Mcp-Session-Id": ann.session,
                "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
        stream = ann.connection.getresponse()
        events = (json.loads(line[5:]) for line in stream if line.startswith(b"data:"))
        question = next(events)
        self.assertEqual((question["method"], self.sent()), ("elicitation/create", 0))
        yes = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"approved": True}}}
        # An answer from another user has no effect.
        bob = Client(self.port, "bob")
        bob.initialize()
        self.assertEqual(bob.post(yes, Mcp_Session_Id=bob.session).status, 202)
        self.assertEqual(self.sent(), 0)
        self.assertEqual(answering.post(yes, Mcp_Session_Id=ann.session).status, 202)
        self.assertEqual(next(events)["result"]["structuredContent"]["result"], "sent")
        self.assertEqual(self.sent(), 1)

    def test_with_tokens_the_metadata_says_who_gives_them(self):
        self.put("token.key", "a-secret-of-at-least-thirty-two-bytes\n")
        self.serve(serve.MEMORY + """
[identity]
mode = "jwt"
[identity.jwt]
issuer = "https://id.example"
audience = "caisson"
secret_file = "token.key"
""")
        refused = Client(self.port).modern("tools/list", Authorization="Bearer x.y.z")
        self.assertEqual(refused.status, 401)
        where = re.search(r'resource_metadata="http://[^/]+(/[^"]+)"', refused.headers["WWW-Authenticate"])[1]
        for path in (where, "/.well-known/oauth-protected-resource"):
            metadata = json.loads(Client(self.port).send("GET", path=path).body)
            self.assertEqual(metadata["authorization_servers"], ["https://id.example"])
            self.assertEqual(metadata["resource"], f"http://127.0.0.1:{self.port}/mcp")

    def test_output_comes_before_the_answer(self):
        self.serve()
        params = modern({"name": "execute_code", "arguments": {"code": "print('up')\n1"}})
        params["_meta"]["progressToken"] = "p"
        answer = Client(self.port, "ann").post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
                                               MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call",
                                               Mcp_Name="execute_code")
        events = [json.loads(data) for data in re.findall(rb"^data: (.*)$", answer.body, re.MULTILINE)]
        self.assertEqual(events[0]["method"], "notifications/progress")
        self.assertEqual(events[-1]["result"]["structuredContent"]["result"], 1)

    def test_files_are_there_for_as_long_as_their_runs_are_remembered(self):
        self.kept |= {"caisson.db", "caisson.db.keys", "caisson.db-wal", "caisson.db-shm"}
        config = "[retention]\nruns_days = 30\n" + serve.KEYS + serve.SEND
        self.serve(config)
        ann = Client(self.port, "ann")
        waiting = ann.run("open('/output/b.txt', 'w').write('b')\nsend(to='ann')")["structuredContent"]
        self.assertEqual(waiting["status"], "waiting", waiting)
        result = ann.run("open('/output/a.txt', 'w').write('a')\n1")
        uri = next(block["uri"] for block in result["content"] if block["type"] == "resource_link")
        read = lambda: Client(self.port, "ann").modern("resources/read", {"uri": uri}).message

        def later(days):
            self.process.send_signal(signal.SIGTERM)
            self.assertEqual(self.process.wait(timeout=PATIENCE), 0)
            store = sqlite3.connect(self.work / "caisson.db")
            with store:
                store.execute("UPDATE runs SET updated_at = updated_at - ?", (days * 86400 * 10**6,))
            store.close()
            self.serve(config)
        later(29)
        self.assertEqual(read()["result"]["contents"][0]["text"], "a")
        later(2)
        self.wait_until(lambda: "error" in read(), "it expires")
        self.assertEqual(read()["error"]["code"], -32602)
        ann = Client(self.port, "ann")
        self.assertEqual(ann.modern("resources/list").message["result"]["resources"], [])
        # A session that waits for a person is never dropped.
        wait = ann.modern("tools/call", {"name": "wait_for_run", "arguments": {
            "run_id": waiting["run_id"], "timeout_seconds": 0}}).message["result"]
        self.assertEqual(wait["structuredContent"]["status"], "waiting", wait)

    def test_two_hundred_clients_at_once(self):
        self.serve()

        def work(number):
            client = Client(self.port, ("ann", "bob")[number % 2])
            return [client.run(f"{number} * 1000 + {i}")["structuredContent"]["result"] for i in range(3)]

        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            results = list(pool.map(work, range(200)))
        self.assertEqual(results, [[number * 1000 + i for i in range(3)] for number in range(200)])


if __name__ == "__main__":
    run_suite(sys.modules[__name__])
