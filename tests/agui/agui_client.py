"""The official AG-UI client against the door.

    agui_client.py PROGRAM BUILD_DIRECTORY FAKE_SERVER [unittest arguments]"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
sys.path.append(str(HERE.parent / "conformance"))
import tier  # noqa: E402
from npm import Packages  # noqa: E402

CONFIG = """
[identity]
mode = "keys"
[[identity.key]]
tenant = "acme"
user = "ann"
value_env = "ANN_KEY"
[[identity.key]]
tenant = "acme"
user = "bob"
value_env = "BOB_KEY"

[[model]]
name = "demo"
kind = "demo"

[[tool]]
name = "send"
kind = "command"
command = ["./send.sh"]
approval = "always"
input_schema = { type = "object", properties = { to = { type = "string" } }, required = ["to"] }

[[tool]]
name = "lookup"
kind = "command"
command = ["./lookup.sh"]
input_schema = { type = "object", properties = { key = { type = "string" } }, required = ["key"] }

[[agent]]
name = "analyst"
model = "demo"
tools = ["send"]

[[agent]]
name = "caller"
model = "demo"
code = false
tools = ["send", "lookup"]

[[agent]]
name = "plain"
model = "demo"
code = false
tools = []
"""
PATIENCE = 180
PROGRAM = PACKAGES = FAKE_SERVER = None


class FakeServer:
    """The door alone, over turns of a fake (fake_server.cc)."""

    def __init__(self):
        self.process = subprocess.Popen([FAKE_SERVER], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class CaissonServer:
    """caisson serve, with this configuration. Its tools answer with their arguments."""

    def __init__(self, program, config):
        self.program = program
        self.directory = tempfile.TemporaryDirectory(prefix="caisson-agui-")
        top = pathlib.Path(self.directory.name)
        for name in ("send.sh", "lookup.sh"):
            (top / name).write_text("#!/bin/sh\nexec cat\n")
            (top / name).chmod(0o755)
        (top / "caisson.toml").write_text('[store]\nurl = "sqlite:caisson.db"\n' + config)
        self.start()

    def start(self):
        keys = {f"{user.upper()}_KEY": f"the-key-of-{user}-quite-long" for user in ("ann", "bob")}
        self.process = subprocess.Popen([self.program, "serve", "--listen", "127.0.0.1:0", "--config", "caisson.toml"],
                                        cwd=self.directory.name, env={**os.environ, **keys}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().strip()
        assert line.startswith("listening on http://"), line
        self.url = line.removeprefix("listening on ")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json",
                                          "Authorization": "Bearer the-key-of-ann-quite-long"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            frames = answer.read().decode().split("\n\n")
        return [json.loads(frame.removeprefix("data: ")) for frame in frames if frame.startswith("data: ")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        self.directory.cleanup()
        assert status == 0, f"the server ended with {status}"


class AguiClient(unittest.TestCase):
    def run_flows(self, url, kind):
        # A script imports packages from the directories above it, so it runs from beside them.
        script = PACKAGES.top / f"agui_client_{kind}.mjs"
        script.write_text((HERE / "agui_client.mjs").read_text())
        done = subprocess.run([PACKAGES.node, str(script), url, kind], cwd=PACKAGES.top, env=PACKAGES.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout)
        names = re.findall(r"^  async (\w+)\(\) \{", (HERE / "agui_client.mjs").read_text(), re.M)
        self.assertEqual(re.findall(r"^ok (\w+)$", done.stdout, re.M), names)

    def test_all_flows_with_the_door_alone(self):
        with FakeServer() as server:
            self.run_flows(server.url, "fake")

    def test_all_flows_with_the_demo_model(self):
        with CaissonServer(PROGRAM, CONFIG) as server:
            self.run_flows(server.url, "demo")

    def test_a_thread_and_its_interrupt_survive_the_server(self):
        for text, name in (('call send {"to": "ann"}', "caller"), ("```send(to='ann')```", "analyst")):
            with self.subTest(name), CaissonServer(PROGRAM, CONFIG) as server:
                run = lambda number, **more: server.post(
                    f"/agui/{name}", {"threadId": "t", "runId": str(number), "messages": [], **more})
                asked = run(1, messages=[{"id": "m", "role": "user", "content": text}], state={"n": 1})
                self.assertEqual(asked[-1]["outcome"]["type"], "interrupt", asked)
                server.kill()
                server.start()
                shown = run(2)
                self.assertEqual([event["type"] for event in shown],
                                 ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"])
                self.assertEqual(shown[-1]["outcome"], asked[-1]["outcome"])
                (interrupt,) = shown[-1]["outcome"]["interrupts"]
                answer = {"interruptId": interrupt["id"], "status": "resolved",
                          "payload": {"approved": True, "editedArgs": {"to": "bob"}}}
                ended = run(3, resume=[answer])
                self.assertEqual(ended[-1]["outcome"]["type"], "success", ended)
                (result,) = [event for event in ended if event["type"] == "TOOL_CALL_RESULT"]
                self.assertEqual(result["toolCallId"], interrupt["toolCallId"])
                self.assertIn("bob", result["content"])
                self.assertNotIn("TOOL_CALL_START", [event["type"] for event in ended])
                refused = run(4, resume=[answer])
                self.assertEqual(refused[-1]["code"], "APPROVAL_RESUME_NOT_FOUND")


if __name__ == "__main__":
    PROGRAM = tier.program(sys.argv.pop(1))
    PACKAGES = Packages(sys.argv.pop(1))
    FAKE_SERVER = sys.argv.pop(1)
    unittest.main(verbosity=2)
