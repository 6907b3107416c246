"""caisson serve with many and hostile clients: connections, slow senders, floods of runs. Other
clients are not affected."""

import __main__
import http.client
import json
import resource
import socket

import harness

ANN, BOB = "the-key-of-ann-0123456789", "the-key-of-bob-0123456789"
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


class Crowd(harness.CliTest):
    process = None

    def serve(self, more=""):
        self.put("ann.key", ANN)
        self.put("bob.key", BOB)
        self.put("caisson.toml", CONFIG + more)
        process = self.start("serve", "--config", "caisson.toml", "--listen", "127.0.0.1:0",
                             preexec_fn=harness.without_signals)
        line = process.stdout.readline().decode()
        self.assertTrue(line.startswith("listening on http://127.0.0.1:"), (line, process.poll()))
        self.port = int(line.rsplit(":", 1)[1])
        self.process = process

    def tearDown(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        super().tearDown()

    def connect(self, bytes_to_send=b""):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE)
        self.addCleanup(connection.close)
        try:
            connection.sendall(bytes_to_send)
        except ConnectionError:
            pass  # It was already closed to make room.
        return connection

    def ask(self, method, path, body=None, key=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        headers = {"Authorization": "Bearer " + key} if key else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            response.text = response.read().decode()
            return response
        finally:
            connection.close()

    def expect_service(self):
        for path in ("/healthz", "/readyz", "/metrics"):
            self.assertEqual(self.ask("GET", path).status, 200, path)
        answer = self.ask("POST", "/v1/runs", {"code": "6*7"}, key=BOB)
        self.assertEqual((answer.status, json.loads(answer.text)["outcome"]["result"]), (200, 42))

    def test_forty_sockets_with_announced_bodies(self):
        self.serve()
        for key in ("", f"Authorization: Bearer {ANN}\r\n"):
            head = (f"POST /mcp HTTP/1.1\r\nHost: x\r\n{key}Content-Type: application/json\r\n"
                    f"Content-Length: {16 << 20}\r\n\r\n")
            for _ in range(40):
                self.connect(head.encode())
        self.expect_service()

    def test_a_stranger_is_refused_before_its_body_is_sent(self):
        self.serve()
        for path in ("/v1/runs", "/mcp"):
            stranger = self.connect(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n".encode())
            self.assertIn(b" 401 ", stranger.recv(4096).split(b"\r\n")[0])

    def test_thousands_of_connections(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 5000:
            self.skipTest("this test needs 5,000 open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.serve()
        for i in range(4200):
            self.connect(b"GET /healthz HTTP/1.1\r\nX-" if i % 2 else b"")
        self.expect_service()

    def test_health_when_all_connections_wait_for_runs(self):
        self.serve("[server]\nmax_connections = 8\n")
        sleeping = json.dumps({"code": "import time; time.sleep(60)", "limits": {"wall_seconds": 100}})
        head = (f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ANN}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(sleeping)}\r\n\r\n{sleeping}")
        for _ in range(8):
            self.connect(head.encode())
        def full():
            answer = self.ask("GET", "/v1/runs", key=BOB)
            return answer.status == 503 and "server.max_connections" in answer.text and answer.headers["Retry-After"]
        self.wait_until(full, "all connections are taken")
        for _ in range(50):
            self.assertEqual(self.ask("GET", "/healthz").status, 200)
        self.assertEqual(self.ask("GET", "/metrics").status, 200)

    def test_a_flood_of_runs_costs_its_user_alone(self):
        self.serve()
        sleeping = {"code": "import time; time.sleep(50)", "limits": {"wall_seconds": 60}, "wait": False}
        answers = [self.ask("POST", "/v1/runs", sleeping, key=ANN) for _ in range(2001)]
        refused = [answer for answer in answers if answer.status != 202]
        self.assertTrue(refused)
        for answer in refused:
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (429, "1"), answer.text)
            self.assertIn("runs.max_cells", answer.text)
        self.expect_service()
        answer = self.ask("POST", "/v1/runs", {"code": "1"}, key=ANN)
        self.assertEqual(answer.status, 429)

    def test_the_caps_of_one_user_are_configured(self):
        self.serve("[runs]\nmax_cells = 2\nmax_queued = 1\n")
        sleeping = {"code": "import time; time.sleep(50)", "limits": {"wall_seconds": 60}, "wait": False}
        self.assertEqual([self.ask("POST", "/v1/runs", sleeping, key=ANN).status for _ in range(4)], [202, 202, 202, 429])
        self.expect_service()


if __name__ == "__main__":
    harness.run_suite(__main__)
