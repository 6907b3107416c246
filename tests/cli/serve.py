"""caisson serve: the REST door end to end, with Python's client, curl and raw sockets."""

import __main__
import base64
import concurrent.futures
import hashlib
import hmac
import http.client
import json
import os
import signal
import socket
import subprocess
import time

import harness

MEMORY = '[store]\nurl = "memory:"\n'
ANN, BOB = "the-key-of-ann-0123456789", "the-key-of-bob-0123456789"
KEYS = """
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
# Each call of the tool writes one line.
SEND = """
[[tool]]
name = "send"
kind = "command"
command = ["./send.sh"]
approval = "always"
input_schema = { type = "object", properties = { to = { type = "string" } }, required = ["to"] }
"""


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body!r}"


class Serve(harness.CliTest):
    def serve(self, config=MEMORY, listen="127.0.0.1:0", worker_dir=None, tier=None):
        self.put("caisson.toml", config)
        where = ["--worker-dir", str(worker_dir)] if worker_dir else []
        where += ["--tier", tier] if tier else []
        process = self.start("serve", "--config", "caisson.toml", "--listen", listen, *where,
                             preexec_fn=harness.without_signals)
        line = process.stdout.readline().decode()
        self.assertTrue(line.startswith("listening on http://127.0.0.1:"), (line, process.poll()))
        self.port = int(line.rsplit(":", 1)[1])
        return process

    def stop(self, process, number=signal.SIGTERM):
        process.send_signal(number)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, out, err), (0, b"", b""))

    def ask(self, method, path, body=None, key=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        headers = dict(headers or {})
        if key:
            headers["Authorization"] = "Bearer " + key
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, headers)
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def run_code(self, code, **more):
        answer = self.ask("POST", "/v1/runs", {"code": code, **more})
        self.assertIn(answer.status, (200, 202), answer)
        return answer.json

    def await_run(self, id, key=None):
        def finished():
            return self.ask("GET", f"/v1/runs/{id}", key=key).json["state"] == "finished"
        self.wait_until(finished, "the run ends")
        return self.ask("GET", f"/v1/runs/{id}", key=key).json


class Server(Serve):
    def test_says_where_it_listens_and_nothing_else(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.stop(self.serve(), number)

    def test_health_readiness_and_metrics(self):
        process = self.serve()
        self.assertEqual(self.ask("GET", "/healthz").body, b"ok\n")
        for path in ("/readyz", "/readiness"):
            self.assertEqual(self.ask("GET", path).status, 200)
        self.run_code("1")
        self.ask("GET", "/nowhere")
        metrics = self.ask("GET", "/metrics").body.decode()
        self.assertIn('caisson_http_requests_total{method="POST",route="/v1/runs",status="200"} 1\n', metrics)
        self.assertIn('caisson_http_requests_total{method="",route="",status="404"} 1\n', metrics)
        self.assertIn('caisson_http_request_seconds_count{route="/v1/runs"} 1\n', metrics)
        self.stop(process)

    def test_a_killed_host_leaves_no_files_of_cells(self):
        process = self.serve(MEMORY + '[engine]\ndefault = "native"\n[policy]\npreset = "open"\n', tier="landlock")
        code = ("import os, time\n"
                "os.mkdir('/tmp/hidden', 0o300)\n"
                "for name in ('/tmp/hidden/a', '/output/b'): open(name, 'w').write('x')\n"
                "while True: time.sleep(0.001); open('/tmp/c', 'w').close()\n")
        self.run_code(code, wait=False, limits={"wall_seconds": 60})
        self.wait_until(lambda: list(self.tmp.glob("caisson-cells-*/*/output/b")), "the run writes")
        process.kill()
        process.wait()
        self.wait_until(lambda: not list(self.tmp.iterdir()), "the files are removed")
        # tearDown() expects that no process is left.

    def test_the_tier_comes_from_the_configuration_and_the_flag_overrides_it(self):
        configured = MEMORY + '[engine]\ntier = "landlock"\n'
        for tier, expected in ((None, "landlock"), ("none", "none")):
            process = self.serve(configured, tier=tier)
            self.assertEqual(self.run_code("1")["outcome"]["boundary"]["tier"], expected)
            self.stop(process)

    def test_a_tier_that_does_not_exist_is_refused(self):
        self.put("caisson.toml", MEMORY)
        done = self.caisson("serve", "--config", "caisson.toml", "--tier", "steel")
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertIn(b"steel", done.err)

    def test_a_second_one_on_the_same_port_says_why_it_cannot(self):
        process = self.serve()
        done = self.caisson("serve", "--config", "caisson.toml", "--listen", f"127.0.0.1:{self.port}")
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertEqual(done.err.decode(),
                         f"caisson: listen on 127.0.0.1:{self.port}: the address is already in use; stop the other program or choose another address\n")
        self.assertEqual(self.ask("GET", "/healthz").status, 200)
        self.stop(process)

    def test_mode_local_serves_this_machine_alone(self):
        self.put("caisson.toml", MEMORY)
        done = self.caisson("serve", "--config", "caisson.toml", "--listen", "0.0.0.0:0")
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertIn(b'in identity mode "local"', done.err)

    def test_bad_flags_and_configurations(self):
        self.put("caisson.toml", "[identity]\nmode = \"jwt\"\n")
        for arguments in (["--listen", "nowhere"], ["--listen", "127.0.0.1:99999"], ["--config", "none.toml"],
                          ["--config", "caisson.toml"], ["--port", "1"]):
            done = self.caisson("serve", *arguments)
            self.assertEqual((done.status, done.out), (2, b""), (arguments, done))
            self.assertTrue(done.err.startswith(b"caisson: "), done)

    def test_pages_of_others_are_kept_out(self):
        process = self.serve()
        self.assertEqual(self.ask("GET", "/healthz", headers={"Host": "evil.example"}).status, 403)
        answer = self.ask("POST", "/v1/runs", {"code": "1"}, headers={"Origin": "http://evil.example"})
        self.assertEqual(answer.status, 403)
        answer = self.ask("POST", "/v1/runs", '{"code":"1"}', headers={"Content-Type": "text/plain"})
        self.assertEqual(answer.status, 400)
        self.assertEqual(self.ask("GET", "/v1/runs").json["items"], [])
        self.stop(process)

    def test_stopping_lets_a_run_finish(self):
        process = self.serve()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            running = pool.submit(self.run_code, "import time\ntime.sleep(1)\n'finished'")
            self.wait_until(lambda: self.ask("GET", "/v1/runs?state=running").json["items"]
                            or running.done(), "the run is under way")
            self.stop(process)
            self.assertEqual(running.result()["outcome"]["result"], "finished")


class Runs(Serve):
    def test_a_run_has_the_outcome_that_every_door_shows(self):
        process = self.serve()
        run = self.run_code("print('hi')\n6*7")
        self.assertEqual((run["state"], run["code"]), ("finished", "print('hi')\n6*7"))
        outcome = run["outcome"]
        self.assertEqual((outcome["run_id"], outcome["status"], outcome["reason"], outcome["stdout"],
                          outcome["has_result"], outcome["result"]),
                         (run["id"], "completed", "returned", "hi\n", True, 42))
        self.assertEqual(self.ask("GET", "/v1/runs/" + run["id"]).json["outcome"], outcome)
        self.stop(process)

    def test_curl(self):
        process = self.serve()
        out = subprocess.run(["curl", "-sS", "-i", "--json", '{"code":"6*7"}', f"http://127.0.0.1:{self.port}/v1/runs"]
                             if self.curl_knows_json() else
                             ["curl", "-sS", "-i", "-H", "Content-Type: application/json", "-d", '{"code":"6*7"}',
                              f"http://127.0.0.1:{self.port}/v1/runs"],
                             capture_output=True, timeout=harness.PATIENCE, check=True).stdout
        self.assertIn(b"HTTP/1.1 200 OK", out)
        self.assertIn(b'"result":42', out)
        self.stop(process)

    @staticmethod
    def curl_knows_json():
        return b"--json" in subprocess.run(["curl", "--help", "all"], capture_output=True, check=True).stdout

    def test_empty_huge_malformed_and_hostile_requests(self):
        process = self.serve()
        self.assertEqual(self.run_code("")["outcome"]["status"], "completed")
        self.assertEqual(self.run_code("x" * 70_000)["outcome"]["status"], "rejected")
        self.assertEqual(self.ask("POST", "/v1/runs", {"code": "x" * 10_000_000}).status, 413)
        for body in ("", "{", "[]", "null", '{"code":1}', '{"code":"\\ud800"}', '{"code":"1","policy":"open"}',
                     '{"code":"1","limits":{"wall_seconds":1e9}}', "[" * 100_000, b"\xff\xfe"):
            answer = self.ask("POST", "/v1/runs", body)
            self.assertEqual(answer.status, 400, (body[:50], answer))
            self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
            self.assertEqual(answer.json["status"], 400)
        self.assertEqual(self.run_code("import os\nos.system('id')")["outcome"]["status"], "rejected")
        self.assertEqual(self.run_code("while True: pass", limits={"wall_seconds": 0.2})["outcome"]["reason"], "wall_time")
        self.assertEqual(self.run_code("6*7")["outcome"]["result"], 42)
        self.stop(process)

    def test_bytes_that_are_no_request_stop_nobody(self):
        process = self.serve()
        for bytes_sent in (b"", b"\0" * 100, b"GET / HTTP/1.1\r\n", b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.port)) as client:
                client.sendall(bytes_sent)
        slow = socket.create_connection(("127.0.0.1", self.port))
        slow.sendall(b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n")
        self.assertEqual(self.run_code("6*7")["outcome"]["result"], 42)
        slow.close()
        self.stop(process)

    def test_many_at_once_each_get_their_own(self):
        process = self.serve()
        with concurrent.futures.ThreadPoolExecutor(max_workers=32) as pool:
            runs = list(pool.map(lambda n: self.run_code(f"{n}*1000"), range(200)))
        self.assertEqual([run["outcome"]["result"] for run in runs], [n * 1000 for n in range(200)])
        self.assertEqual(len({run["id"] for run in runs}), 200)
        seen, after = [], ""
        while after is not None:
            page = self.ask("GET", "/v1/runs?limit=70" + (f"&after={after}" if after else "")).json
            seen += [run["id"] for run in page["items"]]
            after = page["next"]
        self.assertEqual(sorted(seen), sorted(run["id"] for run in runs))
        self.stop(process)

    def test_a_client_that_disconnects_cancels(self):
        process = self.serve()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        connection.request("POST", "/v1/runs", json.dumps({"code": "while True: pass"}),
                           {"Content-Type": "application/json", "Accept": "text/event-stream"})
        response = connection.getresponse()
        self.assertEqual(response.readline(), b"event: started\n")
        id = json.loads(response.readline().split(b"data: ")[1])["id"]
        response.close()
        connection.close()
        self.assertEqual(self.await_run(id)["outcome"]["status"], "cancelled")
        self.stop(process)

    def test_detached_and_cancelled(self):
        process = self.serve()
        answer = self.ask("POST", "/v1/runs", {"code": "while True: pass", "wait": False})
        self.assertEqual((answer.status, answer.json["outcome"]), (202, None))
        id = answer.json["id"]
        self.assertEqual(answer.headers["Location"], f"/v1/runs/{id}")
        cancelled = self.ask("POST", f"/v1/runs/{id}/cancel")
        self.assertEqual((cancelled.status, cancelled.json["outcome"]["status"]), (200, "cancelled"))
        self.stop(process)

    def test_output_is_told_as_it_comes(self):
        process = self.serve()
        answer = self.ask("POST", "/v1/runs", {"code": "print('é' * 3)\n1"}, headers={"Accept": "text/event-stream"})
        events = [event.split("\n") for event in answer.body.decode().split("\n\n") if event and event != ":"]
        names = [event[0] for event in events]
        self.assertEqual((names[0], names[-1]), ("event: started", "event: run"))
        said = "".join(json.loads(event[1][6:])["text"] for event in events if event[0] == "event: output")
        self.assertEqual(said, "ééé\n")
        self.assertEqual(json.loads(events[-1][1][6:])["outcome"]["result"], 1)
        self.stop(process)

    def test_files(self):
        process = self.serve()
        run = self.run_code("open('/output/a.csv', 'w').write('a,b\\n')")
        self.assertEqual(run["outcome"]["files"][0]["path"], "/output/a.csv", run)
        file = self.ask("GET", f"/v1/runs/{run['id']}/files/0")
        self.assertEqual((file.status, file.body, file.headers["Content-Type"]), (200, b"a,b\n", "text/csv"))
        self.assertIn("attachment", file.headers["Content-Disposition"])
        self.assertEqual(self.ask("GET", f"/v1/runs/{run['id']}/files/1").status, 404)
        self.stop(process)

    def test_a_repeated_request_with_a_key_is_done_once(self):
        process = self.serve()
        def twice():
            return self.ask("POST", "/v1/runs", {"code": "import random\nrandom.random()"},
                            headers={"Idempotency-Key": "one"})
        first = twice()
        again = twice()
        self.assertEqual((again.status, again.json["id"], again.json["outcome"]["result"]),
                         (first.status, first.json["id"], first.json["outcome"]["result"]))
        self.assertEqual(len(self.ask("GET", "/v1/runs").json["items"]), 1)
        other = self.ask("POST", "/v1/runs", {"code": "2"}, headers={"Idempotency-Key": "one"})
        self.assertEqual(other.status, 422)
        self.stop(process)


class ServeSend(Serve):
    """With a tool that writes a line for each call, and needs an approval."""

    def setUp(self):
        super().setUp()
        self.put("send.sh", "#!/bin/sh\ncat >> sent\necho >> sent\necho '\"sent\"'\n")
        (self.work / "send.sh").chmod(0o755)
        self.kept |= {"sent", "ann.key", "bob.key"} | {
            "caisson.db" + end for end in ("", "-wal", "-shm", ".keys")}
        self.put("ann.key", ANN + "\n")
        self.put("bob.key", BOB + "\n")

    def sent(self):
        path = self.work / "sent"
        return [json.loads(line) for line in path.read_text().split("\n") if line] if path.exists() else []


class Approvals(ServeSend):
    def test_a_run_waits_for_a_yes_and_goes_on(self):
        process = self.serve(MEMORY + SEND)
        answer = self.ask("POST", "/v1/runs", {"code": "n = 1\nr = send(to='ann')\n[n + 1, r]"})
        self.assertEqual((answer.status, answer.json["state"]), (202, "waiting"), answer)
        asked = answer.json["outcome"]["approvals"][0]
        self.assertEqual((asked["tool"], asked["arguments"]), ("send", {"to": "ann"}))
        self.assertEqual(self.sent(), [])
        listed = self.ask("GET", "/v1/approvals?state=pending").json["items"]
        self.assertEqual([one["id"] for one in listed], [asked["id"]])
        path = "/v1/approvals/" + asked["id"]
        decided = self.ask("POST", path, {"decision": "approve", "reason": "as agreed"})
        self.assertEqual((decided.status, decided.json["decision"]["reason"]), (200, "as agreed"))
        self.assertEqual(self.await_run(answer.json["id"])["outcome"]["result"], [2, "sent"])
        self.assertEqual(self.ask("POST", path, {"decision": "deny"}).status, 409)
        self.assertEqual(self.sent(), [{"to": "ann"}])
        self.stop(process)

    def test_a_no_reaches_the_code(self):
        process = self.serve(MEMORY + SEND)
        run = self.run_code("try:\n  send(to='ann')\nexcept Exception as e:\n  r = type(e).__name__\nr")
        id = run["outcome"]["approvals"][0]["id"]
        self.assertEqual(self.ask("POST", "/v1/approvals/" + id, {"decision": "deny"}).status, 200)
        self.assertEqual(self.await_run(run["id"])["outcome"]["result"], "ApprovalDenied")
        self.assertEqual(self.sent(), [])
        self.stop(process)

    def test_a_waiting_run_outlives_the_server(self):
        process = self.serve(SEND)
        run = self.run_code("lines = []\nfor to in ('a', 'b'):\n  lines.append(to)\n  send(to=to)\nlines")
        for number, to in enumerate("ab"):
            self.wait_until(lambda: self.ask("GET", "/v1/approvals?state=pending").json["items"], "somebody is asked")
            process.kill()
            process.wait()
            process = self.serve(SEND)
            asked = self.ask("GET", "/v1/approvals?state=pending").json["items"]
            self.assertEqual([one["arguments"] for one in asked], [{"to": to}])
            self.assertEqual(len(self.sent()), number)
            self.assertEqual(self.ask("POST", "/v1/approvals/" + asked[0]["id"], {"decision": "approve"}).status, 200)
            self.wait_until(lambda: len(self.sent()) == number + 1, "it is sent")
        self.assertEqual(self.await_run(run["id"])["outcome"]["result"], ["a", "b"])
        self.assertEqual(self.sent(), [{"to": "a"}, {"to": "b"}])
        self.stop(process)

    def test_bob_does_not_find_objects_of_ann(self):
        process = self.serve(MEMORY + KEYS + SEND)
        ask = lambda method, path, key, body=None: self.ask(method, path, body, key)
        waiting = ask("POST", "/v1/runs", ANN, {"code": "send(to='x')"}).json
        done = ask("POST", "/v1/runs", ANN, {"code": "open('/output/a', 'w').write('x')"}).json
        approval = waiting["outcome"]["approvals"][0]["id"]
        decision = {"decision": "approve"}
        for method, path, body in (("GET", "/v1/runs/{}", None), ("POST", "/v1/runs/{}/cancel", None),
                                   ("GET", "/v1/runs/{}/files/0", None), ("GET", "/v1/approvals/{}", None),
                                   ("POST", "/v1/approvals/{}", decision)):
            hers = approval if "approvals" in path else done["id"]
            nobodys = hers[:4] + "0" * (len(hers) - 4)
            theirs, none = (ask(method, path.format(id), BOB, body) for id in (hers, nobodys))
            self.assertEqual((theirs.status, theirs.body), (404, none.body), path)
            headers = [{k: v for k, v in answer.headers.items() if k != "Date"} for answer in (theirs, none)]
            self.assertEqual(headers[0], headers[1])
        self.assertEqual(ask("GET", "/v1/runs", BOB).json["items"], [])
        self.assertEqual(ask("GET", "/v1/approvals", BOB).json["items"], [])
        for key in (None, "no-such-key-0123456789"):
            answer = ask("GET", "/v1/runs", key)
            self.assertEqual((answer.status, answer.headers["WWW-Authenticate"]), (401, "Bearer"))
        self.assertEqual(len(ask("GET", "/v1/runs", ANN).json["items"]), 2)
        self.stop(process)

    def test_only_so_many_runs_wait_as_are_configured(self):
        process = self.serve(MEMORY + KEYS + SEND + "[runs]\nmax_waiting = 1\nmax_waiting_in_all = 2\n")
        start = lambda key: self.ask("POST", "/v1/runs", {"code": "send(to='x')"}, key).json
        self.assertEqual(start(ANN)["state"], "waiting")
        for key, why in ((ANN, "too many of your runs"), (BOB, None), (BOB, "too many of your runs")):
            run = start(key)
            if why is None:
                self.assertEqual(run["state"], "waiting", run)
                continue
            error = run["outcome"]["error"]
            self.assertEqual(error["type"], "ApprovalDenied", run)
            self.assertIn(why, error["message"])
        self.assertEqual(self.sent(), [])
        self.stop(process)
        process = self.serve(MEMORY + KEYS + SEND + "[runs]\nmax_waiting_in_all = 1\n")
        self.assertEqual(start(ANN)["state"], "waiting")
        self.assertIn("the server has too many waiting runs", start(BOB)["outcome"]["error"]["message"])
        self.stop(process)

    def test_without_strict_isolation_nobody_is_somebody_of_their_own(self):
        process = self.serve(MEMORY + KEYS.replace("[identity]", "[identity]\nstrict_isolation = false", 1))
        run = self.ask("POST", "/v1/runs", {"code": "6*7"}).json
        path = "/v1/runs/" + run["id"]
        self.assertEqual(run["outcome"]["result"], 42, run)
        self.assertEqual([self.ask("GET", path, None, key).status for key in (None, ANN, "no-such-key-0123456789")],
                         [200, 404, 401])
        hers = self.ask("POST", "/v1/runs", {"code": "1"}, ANN).json
        self.assertEqual(self.ask("GET", "/v1/runs/" + hers["id"]).status, 404)
        self.stop(process)


class Identity(Serve):
    SECRET = "a-shared-secret-of-32-bytes-or-more"

    def token(self, secret=SECRET, **claims):
        claims = {"iss": "https://id.example", "aud": "caisson", "sub": "ann", "exp": time.time() // 1 + 600} | claims
        part = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
        signed = part(b'{"alg":"HS256"}') + b"." + part(json.dumps(claims).encode())
        return (signed + b"." + part(hmac.digest(secret.encode(), signed, hashlib.sha256))).decode()

    def runs_of(self, **who):
        answer = self.ask("GET", "/v1/runs", **who)
        return len(answer.json["items"]) if answer.status == 200 else answer.status

    def test_tokens(self):
        self.put("token.key", self.SECRET + "\n")
        process = self.serve(MEMORY + """
[identity]
mode = "jwt"
[identity.jwt]
issuer = "https://id.example"
audience = "caisson"
secret_file = "token.key"
""")
        self.assertEqual(self.ask("POST", "/v1/runs", {"code": "1"}, key=self.token()).status, 200)
        self.assertEqual(self.runs_of(key=self.token()), 1)
        self.assertEqual(self.runs_of(key=self.token(sub="bob")), 0)
        none = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
        for bad in (None, self.token(secret="another-secret-of-32-bytes-or-more"), self.token(exp=1), self.token(aud="x"),
                    self.token(iss="x"), self.token(sub=" "), none + "." + self.token().split(".")[1] + "."):
            self.assertEqual(self.runs_of(key=bad), 401, bad)
        self.stop(process)

    def test_headers_of_proxies(self):
        config = MEMORY + '[identity]\nmode = "headers"\n[identity.headers]\nuser = "x-user"\n'
        process = self.serve(config + 'proxies = ["127.0.0.1"]\n')
        self.assertEqual(self.ask("POST", "/v1/runs", {"code": "1"}, headers={"X-User": "ann"}).status, 200)
        self.assertEqual(self.runs_of(headers={"X-User": "ann"}), 1)
        self.assertEqual(self.runs_of(headers={"X-User": "bob"}), 0)
        self.assertEqual(self.runs_of(), 401)
        self.stop(process)
        process = self.serve(config + 'proxies = ["10.0.0.1"]\n')
        self.assertEqual(self.runs_of(headers={"X-User": "ann"}), 401)
        self.stop(process)


if __name__ == "__main__":
    harness.run_suite(__main__)
