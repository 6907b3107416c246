"""[limits.max]: nobody gets more than the operator allows, over any door."""

import __main__
import http.client
import json
import stat

import harness

MAX = "[limits.max]\nmemory_bytes = 67108864\nwall_seconds = 20\n"
TOO_MUCH = "x = bytearray(100 << 20); len(x)"
REFUSED = "memory_bytes: 4000000000 is not allowed; the maximum is 67108864 (limits.max.memory_bytes)"
SEND = """
[[tool]]
name = "send"
kind = "command"
command = ["./send.sh"]
approval = "always"
input_schema = { type = "object", properties = { to = { type = "string" } }, required = ["to"] }
"""


class MaxLimits(harness.CliTest):
    process = None

    def serve(self, config):
        self.put("caisson.toml", config)
        self.process = self.start("serve", "--config", "caisson.toml", "--listen", "127.0.0.1:0",
                                  preexec_fn=harness.without_signals)
        line = self.process.stdout.readline().decode()
        self.assertTrue(line.startswith("listening on http://127.0.0.1:"), (line, self.process.poll()))
        self.port = int(line.rsplit(":", 1)[1])

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=harness.PATIENCE)
        self.process = None

    def tearDown(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        super().tearDown()

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE)
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, json.loads(text)

    def test_on_the_command_line(self):
        self.put("caisson.toml", MAX)
        done = self.run_code("1", "--config", "caisson.toml", "--limit", "memory_bytes=4000000000")
        self.assertEqual((done.status, done.out), (2, b""), done)
        self.assertIn(REFUSED.encode(), done.err)
        done = self.run_code(TOO_MUCH, "--config", "caisson.toml")
        self.assertEqual((done.status, done.out), (1, b""), done)
        self.assertIn(b"this is the maximum of every run (limits.max.memory_bytes)", done.err)
        done = self.run_code("while True: pass", "--config", "caisson.toml", "--limit", "wall_seconds=0.2")
        self.assertIn(b"--limit wall_seconds=N (at most 20)", done.err)
        done = self.caisson("repl", "--config", "caisson.toml", "--limit", "memory_bytes=4000000000", code="1\n")
        self.assertEqual(done.status, 2, done)
        self.assertIn(REFUSED.encode(), done.err)
        done = self.caisson("repl", "--config", "caisson.toml", "--policy", "open", code=TOO_MUCH + "\n")
        self.assertIn(b"limit reached: memory (67108864 bytes)", done.err, done)

    def test_mistakes_have_their_line(self):
        self.put("caisson.toml", "[limits]\nmemory_bytes = 268435456\n" + MAX)
        done = self.caisson("config", "check", "--config", "caisson.toml")
        self.assertEqual(done.status, 2, done)
        self.assertIn(b"caisson.toml:2: limits: memory_bytes: 268435456 is not allowed; the maximum is 67108864 "
                      b"(limits.max.memory_bytes)", done.out + done.err)

    def test_over_rest(self):
        self.serve('[store]\nurl = "memory:"\n[policy]\npreset = "open"\n' + MAX)
        for more in ({}, {"session": "s"}, {"wait": False}):
            status, problem = self.ask("POST", "/v1/runs", {"code": "1", "limits": {"memory_bytes": 4000000000}, **more})
            self.assertEqual((status, problem["detail"]), (400, REFUSED))
        for more in ({}, {"session": "s"}):
            status, run = self.ask("POST", "/v1/runs", {"code": TOO_MUCH, **more})
            self.assertEqual((run["outcome"]["status"], run["outcome"]["reason"]), ("limit", "memory"))

    def test_over_mcp(self):
        self.serve('[store]\nurl = "memory:"\n' + MAX)
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
        def call(method, **params):
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method,
                       "Accept": "application/json, text/event-stream"}
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
            return self.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method,
                                             "params": {"_meta": meta, **params}}, headers)[1]["result"]
        tools = {tool["name"]: tool for tool in call("tools/list")["tools"]}
        self.assertIn("It may ask for up to 20 s (300 s of CPU) and 64 MiB of memory.",
                      tools["execute_code"]["description"])
        result = call("tools/call", name="execute_code",
                      arguments={"code": "1", "limits": {"memory_bytes": 4000000000}})
        self.assertTrue(result["isError"])
        self.assertIn(REFUSED, result["content"][0]["text"])

    def test_a_run_that_slept_while_the_maximum_was_lowered(self):
        self.put("send.sh", "#!/bin/sh\necho true\n")
        (self.work / "send.sh").chmod(stat.S_IRWXU)
        self.kept |= {path + end for path in ("runs.db",) for end in ("", "-wal", "-shm", ".keys", ".lock")}
        base = '[store]\nurl = "sqlite:runs.db"\n[policy]\npreset = "open"\n' + SEND
        self.serve(base)
        status, run = self.ask("POST", "/v1/runs", {"code": "send(to='x'); " + TOO_MUCH,
                                                    "limits": {"memory_bytes": 1 << 30, "wall_seconds": 200}})
        self.assertEqual((status, run["outcome"]["status"]), (202, "waiting"))
        self.stop()
        self.serve(base + MAX)
        asked = run["outcome"]["approvals"][0]["id"]
        self.assertEqual(self.ask("POST", "/v1/approvals/" + asked, {"decision": "approve"})[0], 200)
        self.wait_until(lambda: self.ask("GET", "/v1/runs/" + run["id"])[1]["state"] == "finished", "the run ends")
        outcome = self.ask("GET", "/v1/runs/" + run["id"])[1]["outcome"]
        self.assertEqual((outcome["status"], outcome["reason"]), ("limit", "memory"), outcome)
        self.stop()
        self.kept |= {path.name for path in self.work.iterdir()}


if __name__ == "__main__":
    harness.run_suite(__main__)
