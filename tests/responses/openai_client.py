"""The official OpenAI client, and frameworks on top of its API, against the Responses API.

    openai_client.py PROGRAM BUILD_DIRECTORY FAKE_SERVER [unittest arguments]"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
import unittest.mock
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
sys.path.append(str(HERE.parent / "conformance"))
import tier  # noqa: E402
from npm import Packages  # noqa: E402
from suite import Server  # noqa: E402

PATIENCE = 180
# The tool answers "sent"; every call of it waits for an approval.
CONFIG = """
[[model]]
name = "demo"
kind = "demo"

[[tool]]
name = "send"
kind = "command"
command = ["/bin/sh", "-c", "cat > /dev/null; echo '\\"sent\\"'"]
approval = "always"
input_schema = { type = "object", properties = { to = { type = "string" } }, required = ["to"] }

[[agent]]
name = "analyst"
model = "demo"
tools = ["send"]

[[agent]]
name = "direct"
model = "demo"
tools = ["send"]
code = false
"""
PROGRAM = PACKAGES = FAKE_SERVER = None


class FakeServer:
    """The door alone, over turns of a fake (fake_server.cc)."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([FAKE_SERVER, *arguments], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class OpenAiClient(unittest.TestCase):
    def run_flows(self, url, name="openai_client.mjs"):
        # A script imports packages from the directories above it, so it runs from beside them.
        script, text = PACKAGES.top / name, (HERE / name).read_text()
        script.write_text(text)
        done = subprocess.run([PACKAGES.node, str(script), url], cwd=PACKAGES.top, env=PACKAGES.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=PATIENCE)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        names = re.findall(r"^  async (\w+)\(", text, re.M)
        self.assertEqual(re.findall(r"^ok (\w+)$", done.stdout, re.M), names)

    def test_all_flows_with_the_door_alone(self):
        with FakeServer() as server:
            self.run_flows(server.url)

    def test_other_clients_with_the_door_alone(self):
        with FakeServer() as server:
            self.run_flows(server.url, "other_clients.mjs")

    def test_all_flows_with_caisson_serve(self):
        with Server(PROGRAM, more_config=CONFIG) as server:
            self.run_flows(server.url.removesuffix("/mcp"))

    def test_other_clients_with_caisson_serve(self):
        with Server(PROGRAM, more_config=CONFIG) as server:
            self.run_flows(server.url.removesuffix("/mcp"), "other_clients.mjs")


class HostedByFoundry(unittest.TestCase):
    """The environment and the headers of the platform."""

    def ask(self, path, body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def test_requests_of_the_platform_alone_are_answered(self):
        platform = {"FOUNDRY_HOSTING_ENVIRONMENT": "1", "FOUNDRY_AGENT_SESSION_ID": "s7"}
        with unittest.mock.patch.dict(os.environ, platform), Server(PROGRAM, more_config=CONFIG) as server:
            self.url = server.url.removesuffix("/mcp")
            self.assertEqual(self.ask("/readiness")[0], 200)
            question, call = {"input": "hello"}, {"x_agent_foundry_call_id": "c1"}
            ann, bob = ({"x_agent_user_id": user, **call} for user in ("ann", "bob"))
            status, headers, body = self.ask("/responses", question, **ann)
            self.assertEqual((status, headers["x-agent-session-id"]), (200, "s7"))
            self.assertTrue(headers["x-platform-server"].startswith("caisson"))
            path = "/responses/" + json.loads(body)["id"]
            self.assertEqual([self.ask(path, **user)[0] for user in (ann, bob)], [200, 404])
            # Fail closed: no user, a blank user, or no call of the platform.
            for missing in (call, {"x_agent_user_id": " ", **call}, {"x_agent_user_id": "ann"}):
                status, headers, _ = self.ask("/responses", question, **missing)
                self.assertIn(status, (400, 401))
                self.assertEqual(headers["x-platform-error-source"], "user")


if __name__ == "__main__":
    PROGRAM = tier.program(sys.argv.pop(1))
    PACKAGES = Packages(sys.argv.pop(1))
    FAKE_SERVER = sys.argv.pop(1)
    unittest.main(verbosity=2)
