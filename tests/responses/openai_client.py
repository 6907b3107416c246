"""The official OpenAI client against the Responses API.

    openai_client.py PROGRAM BUILD_DIRECTORY FAKE_SERVER [unittest arguments]"""

import pathlib
import re
import subprocess
import sys
import unittest

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
    def run_flows(self, url):
        # A script imports packages from the directories above it, so it runs from beside them.
        script = PACKAGES.top / "openai_client.mjs"
        script.write_text((HERE / "openai_client.mjs").read_text())
        done = subprocess.run([PACKAGES.node, str(script), url], cwd=PACKAGES.top, env=PACKAGES.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=PATIENCE)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        names = re.findall(r"^  async (\w+)\(", (HERE / "openai_client.mjs").read_text(), re.M)
        self.assertEqual(re.findall(r"^ok (\w+)$", done.stdout, re.M), names)

    def test_all_flows_with_the_door_alone(self):
        with FakeServer() as server:
            self.run_flows(server.url)

    def test_all_flows_with_caisson_serve(self):
        with Server(PROGRAM, more_config=CONFIG) as server:
            self.run_flows(server.url.removesuffix("/mcp"))


if __name__ == "__main__":
    PROGRAM = tier.program(sys.argv.pop(1))
    PACKAGES = Packages(sys.argv.pop(1))
    FAKE_SERVER = sys.argv.pop(1)
    unittest.main(verbosity=2)
