"""A store on a full disk: runs wait for space, every door names the cause, and everything continues
when there is space again.

Needs root, for a separate file system."""

import __main__
import ctypes
import json
import os
import subprocess
import sys
import time

import harness
import serve

CLONE_NEWNS = 0x00020000
CONFIG = """
[store]
url = "sqlite:disk/caisson.db"
[runs]
park_seconds = 60
[[tool]]
name = "free"
kind = "command"
command = ["./note.sh"]
input_schema = { type = "object", properties = { id = { type = "string" } } }
[[tool]]
name = "effect"
kind = "command"
command = ["./note.sh"]
approval = "always"
input_schema = { type = "object", properties = { id = { type = "string" } } }
"""
NOTE = "#!/bin/sh\ncat >> effects\necho >> effects\necho null\n"
SLOW_NOTE = NOTE.replace("\n", "\n: > begun\nsleep 1\n", 1)
# The state that it holds while it waits does not fit.
BIG = "import random; x = random.randbytes(3000000); free(id='1'); effect(id='2'); len(x)"


class FullDisk(serve.Serve):
    def setUp(self):
        super().setUp()
        self.disk = self.work / "disk"
        self.disk.mkdir()
        self.kept |= {"disk", "effects"}
        (self.work / self.put("note.sh", NOTE)).chmod(0o755)
        self.mount("size=3m")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.disk)], check=True)

    def tearDown(self):
        self.kept |= {p.relative_to(self.work).as_posix() for p in self.disk.iterdir()}
        super().tearDown()

    def mount(self, options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.disk)], check=True)

    def fill(self, leave=0):
        """Fills the disk until `leave` bytes are free."""
        def free():
            space = os.statvfs(self.disk)
            return space.f_bavail * space.f_frsize
        with open(self.disk / "filler", "wb", buffering=0) as filler:
            for size in (65536, 4096, 1):
                try:
                    while leave == 0 or free() - size >= leave:
                        filler.write(b"x" * size)
                except OSError:
                    pass

    def effects(self):
        return [json.loads(line)["id"] for line in (self.work / "effects").read_text().splitlines() if line]

    def ready(self):
        return self.ask("GET", "/readyz").status == 200

    def test_a_run_waits_until_there_is_room(self):
        process = self.serve(CONFIG)
        run = self.run_code(BIG, wait=False)["id"]
        self.wait_until(lambda: not self.ready(), "the store is reported")
        asked = self.ask("GET", "/v1/approvals").json["items"]
        self.assertEqual([each["state"] for each in asked], ["pending"])
        for _ in range(20):  # It is retried repeatedly, and never given up.
            self.assertEqual(self.ask("GET", f"/v1/runs/{run}").json["state"], "running")
            self.assertFalse(self.ready())
        self.mount("remount,size=64m")
        self.wait_until(lambda: self.ask("GET", f"/v1/runs/{run}").json["state"] == "waiting", "the run is stored")
        self.wait_until(self.ready, "the server is ready again")
        self.assertEqual(self.effects(), ["1"])
        self.ask("POST", f"/v1/approvals/{asked[0]['id']}", {"decision": "approve"})
        outcome = self.await_run(run)["outcome"]
        self.assertEqual((outcome["status"], outcome["result"]), ("completed", 3000000), outcome)
        self.assertEqual(self.effects(), ["1", "2"])
        process.terminate()
        self.assertIn(b'"event":"store.failure"', process.communicate()[1])

    def test_the_disk_fills_up_while_a_tool_is_called(self):
        """The run parks with 150 kB free: the call's end fits, the 3 MB that it holds do not."""
        self.mount("remount,size=64m")
        self.kept.add("begun")
        (self.work / self.put("slow.sh", SLOW_NOTE)).chmod(0o755)
        process = self.serve(CONFIG.replace("./note.sh", "./slow.sh", 1))
        run = self.run_code("import random; bulk=random.randbytes(3000000); free(id='f'); effect(id='s'); len(bulk)",
                            wait=False)["id"]
        self.wait_until((self.work / "begun").exists, "the first call has begun")
        self.fill(leave=150_000)
        self.wait_until(lambda: not self.ready(), "the store is reported")
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.assertIsNone(process.poll(), "the server has died")
            self.assertEqual(self.ask("GET", f"/v1/runs/{run}").json["state"], "running")
            time.sleep(0.05)
        self.assertFalse(self.ready())
        (self.disk / "filler").unlink()
        self.wait_until(lambda: self.ask("GET", f"/v1/runs/{run}").json["state"] == "waiting", "the run is stored")
        self.wait_until(self.ready, "the server is ready again")
        asked = self.ask("GET", "/v1/approvals").json["items"]
        self.ask("POST", f"/v1/approvals/{asked[0]['id']}", {"decision": "approve"})
        outcome = self.await_run(run)["outcome"]
        self.assertEqual((outcome["status"], outcome["result"]), ("completed", 3000000), outcome)
        self.assertEqual(self.effects(), ["f", "s"])
        process.terminate()
        self.assertIn(b'"event":"store.failure"', process.communicate()[1])
        self.assertEqual(process.returncode, 0)

    def test_every_door_says_that_the_server_has_no_room(self):
        process = self.serve(CONFIG)
        self.assertTrue(self.ready())
        self.fill()
        refused = self.ask("POST", "/v1/runs", {"code": "effect(id='1')"})
        self.assertEqual(refused.status, 507, refused)
        self.assertIn("make room", refused.json["detail"])
        self.assertTrue(refused.headers["Retry-After"])
        self.assertEqual(self.ask("GET", "/readyz").status, 503)
        self.assertEqual(self.ask("GET", "/healthz").status, 200)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "execute_code", "arguments": {"code": "effect(id='1')"}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}}}}
        answer = self.ask("POST", "/mcp", call, headers={
            "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call", "Mcp-Name": "execute_code"})
        body = answer.body.decode()
        error = json.loads(body[body.index("{"):].splitlines()[0])["error"]
        self.assertEqual((error["code"], error["data"]["code"]), (-32603, "no_space"), error)
        done = self.caisson("run", "--config", "caisson.toml", code="effect(id='1')")
        self.assertEqual(done.status, 70, done)
        self.assertIn(b"full", done.err)
        (self.disk / "filler").unlink()
        self.wait_until(self.ready, "the server is ready again")
        self.assertEqual(self.run_code("effect(id='1')")["state"], "waiting")
        process.terminate()
        self.assertIn(b'"event":"store.failure"', process.communicate()[1])


if __name__ == "__main__":
    if not harness.is_root():
        sys.exit(77)
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        sys.exit(77)
    if subprocess.run(["mount", "--make-rprivate", "/"]).returncode != 0:
        sys.exit(77)
    harness.run_suite(__main__)
