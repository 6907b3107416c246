"""Upstream servers behind a URL: ours in the new era, others in the old one, and some that
misbehave."""

import __main__
import base64
import contextlib
import http.server
import json
import shutil
import ssl
import subprocess
import threading

import harness
import serve

TOKEN = "a-token-of-the-upstream-0123456789"


class Handler(http.server.BaseHTTPRequestHandler):
    """A server of the old era, with one fault."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server = self.server
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, self.id = message["method"], message.get("id")
        server.headers.append(self.headers)
        server.heard.append((method, self.headers.get("Mcp-Session-Id"), self.headers.get("Authorization")))
        if server.fault == "redirect":
            return self.reply(307, Location="http://127.0.0.1:1/elsewhere")
        if self.headers.get("Authorization") != "Bearer " + TOKEN:
            return self.reply(401)
        if method == "initialize":
            server.sessions += 1
            return self.result({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}},
                               **{"Mcp-Session-Id": f"session-{server.sessions}"})
        if self.headers.get("Mcp-Session-Id") != f"session-{server.sessions}":
            return self.reply(404 if self.headers.get("Mcp-Session-Id") else 400)
        if self.id is None:
            return self.reply(202)
        if method == "tools/list":
            return self.result({"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in server.tools]})
        fault = server.fault
        if fault == "hang":
            server.release.wait(harness.PATIENCE)
        elif fault == "big":
            return self.result({"content": [{"type": "text", "text": "x" * (9 << 20)}]})
        elif fault == "dies":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"jsonrpc"')
            self.close_connection = True
            return
        elif fault == "floods":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"data: {}\n\n" * 10000)
            self.close_connection = True
            return
        elif fault == "noise":
            return self.reply(200, b"this is no JSON")
        if server.grows:
            server.tools.append("new")
            changed = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            answer = json.dumps({"jsonrpc": "2.0", "id": self.id, "result": {"content": [], "structuredContent": 1}})
            server.grows = False
            return self.reply(200, f"event: message\r\ndata: {changed}\r\n\r\ndata: {answer}\n\n".encode(),
                              **{"Content-Type": "text/event-stream"})
        self.result({"content": [], "structuredContent": {"session": self.headers["Mcp-Session-Id"]}})

    def result(self, result, **headers):
        body = json.dumps({"jsonrpc": "2.0", "id": self.id, "result": result}).encode()
        self.reply(200, body, **{"Content-Type": "application/json", **headers})

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class UpstreamHttp(serve.Serve):
    def upstream(self, fault=None, grows=False):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.fault, server.grows, server.sessions = fault, grows, 0
        server.heard, server.tools, server.release = [], ["add"], threading.Event()
        server.headers = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.release.set)
        return server

    def config(self, port, *lines, token=TOKEN, scheme="http", path="/mcp"):
        self.put("up.token", token)
        return "\n".join(['[[upstream]]', 'name = "up"', f'url = "{scheme}://127.0.0.1:{port}{path}"',
                          'bearer_file = "up.token"', *lines, ""])

    def run_with(self, code, server, *lines, **options):
        config = self.put("run.toml", serve.MEMORY + self.config(server.server_port, *lines, **options))
        limit = f"wall_seconds={min(10 * harness.SLOWDOWN, 60)}"
        return self.caisson("run", "--json", "--config", config, "--limit", limit, code=code)

    def test_a_server_of_the_old_era(self):
        server = self.upstream()
        done = self.run_with("[up_add(), up_add()]", server)
        self.assertEqual(done.outcome["result"], [{"session": "session-1"}] * 2, done)
        self.assertEqual({token for _, _, token in server.heard}, {"Bearer " + TOKEN})

    def test_our_own_in_the_new_era(self):
        self.put("ann.key", TOKEN)
        self.put("bob.key", serve.BOB)
        process = self.serve(serve.MEMORY + serve.KEYS)
        config = self.put("run.toml", serve.MEMORY + self.config(self.port))
        done = self.caisson("run", "--json", "--config", config, code="up_execute_code(code='6 * 7')['result']")
        self.assertEqual(done.outcome["result"], 42, done)
        refused = self.caisson("run", "--json", "--config", config,
                               code="try:\n    up_execute_code(code='1', limits={'wall_seconds': 1e9})\n"
                                    "except ToolError as e:\n    r = str(e)\nr")
        self.assertIn("wall_seconds", refused.outcome["result"], refused)
        self.stop(process)

    def test_a_wrong_token_is_told_as_that(self):
        server = self.upstream()
        done = self.run_with("1 + 1", server, token="wrong-token-0123456789")
        self.assertEqual(done.outcome["result"], 2)
        self.assertIn(b"refuses the configured token (status 401)", done.err)
        self.assertNotIn(b"wrong-token", done.err)

    def test_a_name_cannot_bring_a_header_along(self):
        server = self.upstream()
        server.tools = ["a\r\nX-Evil: 1"]
        done = self.run_with("up_a__X_Evil__1()['session']", server)
        self.assertEqual(done.outcome["result"], "session-1", done)
        names = [headers["Mcp-Name"] for headers in server.headers if headers["Mcp-Name"]]
        self.assertEqual(names, ["=?base64?" + base64.b64encode(server.tools[0].encode()).decode() + "?="])
        self.assertFalse([headers for headers in server.headers if "X-Evil" in headers])

    def test_redirects_are_not_followed(self):
        server = self.upstream("redirect")
        done = self.run_with("1 + 1", server)
        self.assertIn(b"redirects (status 307)", done.err)

    def test_an_error_harms_its_own_call_only(self):
        for fault, message in (("big", "longer than"), ("dies", "ended early"), ("floods", "longer than"),
                               ("noise", "gave no answer")):
            with self.subTest(fault):
                server = self.upstream(fault)
                done = self.run_with("try:\n    up_add()\nexcept ToolError as e:\n    r = str(e)\nr", server)
                self.assertIn(message, str(done.outcome["result"]), done)

    def test_one_that_hangs_is_not_waited_for(self):
        server = self.upstream("hang")
        done = self.run_with("try:\n    up_add()\nexcept ToolError as e:\n    r = str(e)\nr", server,
                             "timeout_seconds = 0.3")
        self.assertIn("did not answer within", done.outcome["result"], done)

    def test_one_that_is_not_there(self):
        server = self.upstream()
        server.shutdown()
        server.server_close()
        done = self.run_with("1 + 1", server)
        self.assertEqual(done.outcome["result"], 2)
        self.assertIn(b"no connection to 127.0.0.1", done.err)

    def test_the_token_may_be_in_the_environment(self):
        server = self.upstream()
        config = self.config(server.server_port).replace('bearer_file = "up.token"', 'bearer_env = "UP_TOKEN"')
        self.put("run.toml", serve.MEMORY + config)
        run = lambda **options: self.caisson("run", "--json", "--config", "run.toml", code="up_add()['session']",
                                             **options)
        self.assertEqual(run(variables={"UP_TOKEN": TOKEN}).outcome["result"], "session-1")
        self.assertEqual({token for _, _, token in server.heard}, {"Bearer " + TOKEN})
        # Without a token there is no start: a server that gets no token is not called without one.
        server.heard.clear()
        refused = run()
        self.assertEqual((refused.status, server.heard), (2, []), refused)
        self.assertIn(b"UP_TOKEN is not set", refused.err)

    def openssl(self, *arguments):
        if shutil.which("openssl") is None:
            self.skipTest("openssl is not installed")
        subprocess.run(["openssl", *arguments], check=True, cwd=self.top, stderr=subprocess.DEVNULL)

    def secure_upstream(self, address="127.0.0.1"):
        """A server whose certificate, for `address`, is signed by the test's own authority:
        work/ca.pem."""
        new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        self.openssl(*new, "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=An authority")
        self.openssl(*new, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=A server")
        (self.top / "names").write_text(f"subjectAltName=IP:{address}\n")
        self.openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                     "-days", "2", "-extfile", "names", "-out", "cert.pem")
        self.put("ca.pem", (self.top / "ca.pem").read_bytes())
        server = self.upstream()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.top / "cert.pem", self.top / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        return server

    def test_tls_with_an_authority_that_the_operator_trusts(self):
        server = self.secure_upstream()
        done = self.run_with("up_add()['session']", server, 'certificates = "ca.pem"', scheme="https")
        self.assertEqual(done.outcome["result"], "session-1", done)
        self.assertEqual({token for _, _, token in server.heard}, {"Bearer " + TOKEN})

    def test_a_certificate_that_nobody_vouches_for_is_refused(self):
        server = self.secure_upstream()
        done = self.run_with("1 + 1", server, scheme="https")
        self.assertIn(b"no TLS with 127.0.0.1", done.err)
        self.assertIn(b"certificate", done.err)
        self.assertEqual(server.heard, [])

    def test_a_certificate_of_another_is_refused(self):
        server = self.secure_upstream(address="127.0.0.2")
        done = self.run_with("1 + 1", server, 'certificates = "ca.pem"', scheme="https")
        self.assertIn(b"no TLS with 127.0.0.1", done.err)
        self.assertEqual(server.heard, [])

    def test_certificates_that_are_none_are_told_at_once(self):
        server = self.upstream()
        self.put("ca.pem", "nothing")
        for name in ("ca.pem", "missing.pem"):
            done = self.run_with("1 + 1", server, f'certificates = "{name}"', scheme="https")
            self.assertEqual(done.status, 2, done)
            self.assertIn(b"[[upstream]] up", done.err)

    def test_a_session_that_the_server_forgot_is_begun_anew(self):
        server = self.upstream()
        self.put("ann.key", serve.ANN)
        self.put("bob.key", serve.BOB)
        process = self.serve(serve.MEMORY + serve.KEYS + self.config(server.server_port))

        def call(key):
            outcome = self.ask("POST", "/v1/runs", {"code": "up_add()['session']"}, key).json["outcome"]
            return outcome.get("result") or outcome["error"]["message"]
        # Each user has a separate session; the first was used to list the tools. The server
        # supports one at a time.
        self.assertEqual(call(serve.ANN), "session-2")
        self.assertEqual(call(serve.BOB), "session-3")
        self.assertIn("has ended the session", call(serve.ANN))
        self.wait_until(lambda: call(serve.ANN) == "session-4", "ann has a new one")
        self.stop(process)

    def test_a_change_that_is_told_along_with_an_answer(self):
        server = self.upstream(grows=True)
        process = self.serve(serve.MEMORY + self.config(server.server_port))
        self.assertEqual(self.run_code("up_add()")["outcome"]["result"], 1)
        self.assertIn("session", self.run_code("up_new()")["outcome"]["result"])
        self.stop(process)


if __name__ == "__main__":
    harness.run_suite(__main__)
