"""Tools that change while clients are connected: who is notified, in both eras and over both
transports, and who is not."""

import __main__
import http.client
import json
import subprocess
import sys

import harness
import mcp
import mcp_http
import serve
import upstream_sessions

CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SUBSCRIPTION = mcp.META + "subscriptionId"
LISTEN = {"notifications": {"toolsListChanged": True}}


class OverPipes(mcp.McpTest):
    def setUp(self):
        super().setUp()
        self.put("server.py", upstream_sessions.SERVER)
        self.put("caisson.toml", serve.MEMORY + upstream_sessions.UPSTREAM)
        self.kept.add("effects")

    def receive(self, client, method):
        while (message := client.receive()).get("method") != method:
            pass
        return message

    def test_a_legacy_client_is_told(self):
        client = self.client("--config", "caisson.toml")
        self.assertIs(client.initialize()["capabilities"]["tools"]["listChanged"], True)
        client.ask("tools/call", {"name": "execute_code", "arguments": {"code": "up_grow()"}})
        self.receive(client, CHANGED)
        self.assertIn("up_new(", client.result("tools/list")["tools"][0]["description"])

    def test_a_modern_client_that_listens_is_told(self):
        client = self.client("--config", "caisson.toml")
        discovered = client.result("server/discover", mcp.modern())
        self.assertIs(discovered["capabilities"]["tools"]["listChanged"], True)
        listening = client.ask("subscriptions/listen", mcp.modern(LISTEN))
        acknowledged = self.receive(client, ACKNOWLEDGED)["params"]
        self.assertEqual((acknowledged["notifications"], acknowledged["_meta"][SUBSCRIPTION]),
                         (LISTEN["notifications"], listening))
        client.ask("tools/call", mcp.modern({"name": "execute_code", "arguments": {"code": "up_grow()"}}))
        self.assertEqual(self.receive(client, CHANGED)["params"]["_meta"][SUBSCRIPTION], listening)
        # After it has unsubscribed, it is not notified.
        client.send(method="notifications/cancelled", params={"requestId": listening})
        client.request("tools/call", mcp.modern({"name": "execute_code", "arguments": {"code": "up_change()"}}))
        client.request("tools/list", mcp.modern())
        self.assertNotIn(CHANGED, [message.get("method") for message in client.heard])

    def test_one_who_asks_for_something_else_is_not(self):
        client = self.client("--config", "caisson.toml")
        client.ask("subscriptions/listen", mcp.modern({"notifications": {"promptsListChanged": True}}))
        self.assertEqual(self.receive(client, ACKNOWLEDGED)["params"]["notifications"], {})
        client.request("tools/call", mcp.modern({"name": "execute_code", "arguments": {"code": "up_grow()"}}))
        self.assertNotIn(CHANGED, [message.get("method") for message in client.heard])
        self.assertEqual(client.request("subscriptions/listen", mcp.modern())["error"]["code"], -32602)

    def test_where_nothing_can_change_nothing_is_promised(self):
        client = self.client()
        self.assertEqual(client.initialize()["capabilities"]["tools"], {})
        self.assertEqual(client.request("subscriptions/listen", mcp.modern(LISTEN))["error"]["code"], -32601)

    def test_a_client_that_listens_may_just_go(self):
        client = self.client("--config", "caisson.toml")
        client.ask("subscriptions/listen", mcp.modern(LISTEN))
        self.receive(client, ACKNOWLEDGED)
        self.assertEqual(client.close(), 0)


class OverHttp(serve.Serve):
    def setUp(self):
        super().setUp()
        self.put("server.py", upstream_sessions.SERVER)
        self.put("ann.key", serve.ANN)
        self.put("bob.key", serve.BOB)
        self.kept.add("effects")
        self.process = self.serve(serve.MEMORY + serve.KEYS + upstream_sessions.UPSTREAM)

    def tearDown(self):
        if self.process.poll() is None:
            self.stop(self.process)
        super().tearDown()

    def open(self, verb, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        self.addCleanup(connection.close)
        connection.request(verb, "/mcp", body, {"Accept": "application/json, text/event-stream", **headers})
        response = connection.getresponse()
        response.leave = connection.close
        return response

    def listen(self, user):
        """Subscribes as a modern client."""
        body = json.dumps({"jsonrpc": "2.0", "id": user, "method": "subscriptions/listen",
                           "params": mcp_http.modern(LISTEN)})
        return self.open("POST", body, **{
            "Authorization": "Bearer " + mcp_http.KEYS[user], "Content-Type": "application/json",
            "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"})

    def hear(self, client):
        """Subscribes as a legacy client."""
        return self.open("GET", **{"Authorization": "Bearer " + mcp_http.KEYS[client.user],
                                   "Mcp-Session-Id": client.session or ""})

    @staticmethod
    def next_event(stream):
        for line in stream:
            if line.startswith(b"data:"):
                return json.loads(line[5:])
        return None

    def next_event_or_body(self, response):
        is_stream = response.headers["Content-Type"].startswith("text/event-stream")
        return self.next_event(response) if is_stream else json.loads(response.read())

    def run_code(self, code, user):
        result = mcp_http.Client(self.port, user).run(code)
        self.assertFalse(result["isError"], result)

    def test_each_is_told_of_their_own(self):
        clients = {user: mcp_http.Client(self.port, user) for user in ("ann", "bob")}
        for client in clients.values():
            client.initialize()
        streams = {user: (self.hear(client), self.listen(user)) for user, client in clients.items()}
        for user, (legacy, modern) in streams.items():
            self.assertEqual((legacy.status, modern.status), (200, 200))
            self.assertEqual(self.next_event(modern)["params"]["_meta"][SUBSCRIPTION], user)
        self.run_code("up_grow()", "ann")
        legacy, modern = streams["ann"]
        self.assertEqual(self.next_event(legacy)["method"], CHANGED)
        told = self.next_event(modern)
        self.assertEqual((told["method"], told["params"]["_meta"][SUBSCRIPTION]), (CHANGED, "ann"))
        self.assertIn(b"up_new(", clients["ann"].modern("tools/list").body)
        # Bob's tools have not changed. When the server stops, every listener sees the end of its
        # stream.
        self.stop(self.process)
        self.assertEqual(self.next_event(modern)["result"]["resultType"], "complete")
        self.assertIsNone(self.next_event(streams["bob"][0]))
        self.assertEqual(self.next_event(streams["bob"][1])["id"], "bob")

    def test_one_user_cannot_take_all_the_places(self):
        ann = [self.listen("ann") for _ in range(32)]
        self.assertEqual({self.next_event(stream)["method"] for stream in ann}, {ACKNOWLEDGED})
        self.assertEqual(self.next_event_or_body(self.listen("ann"))["error"]["code"], -32603)
        self.assertEqual(self.next_event(self.listen("bob"))["method"], ACKNOWLEDGED)
        ann[0].leave()
        self.wait_until(lambda: "error" not in self.next_event_or_body(self.listen("ann")), "a place is free")

    def test_a_stream_is_its_session_s(self):
        ann, bob = mcp_http.Client(self.port, "ann"), mcp_http.Client(self.port, "bob")
        ann.initialize()
        bob.session = ann.session
        self.assertEqual(self.hear(bob).status, 404)
        self.assertEqual(self.open("GET", **{"Mcp-Session-Id": ann.session}).status, 401)
        self.assertEqual(ann.send("GET", Mcp_Session_Id=ann.session, Accept="application/json").status, 406)
        self.assertEqual(ann.send("GET").status, 400)
        first = self.hear(ann)
        self.assertEqual((first.status, self.hear(ann).status), (200, 409))
        # A client that left can subscribe again.
        first.leave()
        self.wait_until(lambda: self.hear(ann).status == 200, "the first has ended")


if __name__ == "__main__":
    harness.run_suite(__main__)
