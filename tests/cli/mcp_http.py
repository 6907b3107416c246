"""MCP over HTTP as two users and some attackers see it: /mcp of caisson serve."""

import concurrent.futures
import http.client
import json
import re
import signal
import sys

from harness import CliTest, PATIENCE, run_suite

META = "io.modelcontextprotocol/"
KEYS = {"ann": "ann-0123456789abcdef", "bob": "bob-0123456789abcdef"}
CONFIG = """
[store]
url = "memory:"
[identity]
mode = "keys"
[[identity.key]]
tenant = "acme"
user = "ann"
value_file = "ann.key"
[[identity.key]]
tenant = "acme"
user = "bob"
value_file = "bob.key"
"""


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

    def test_what_is_not_for_us_is_refused(self):
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

    def test_what_is_printed_comes_before_the_answer(self):
        self.serve()
        params = modern({"name": "execute_code", "arguments": {"code": "print('up')\n1"}})
        params["_meta"]["progressToken"] = "p"
        answer = Client(self.port, "ann").post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
                                               MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call",
                                               Mcp_Name="execute_code")
        events = [json.loads(data) for data in re.findall(rb"^data: (.*)$", answer.body, re.MULTILINE)]
        self.assertEqual(events[0]["method"], "notifications/progress")
        self.assertEqual(events[-1]["result"]["structuredContent"]["result"], 1)

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
