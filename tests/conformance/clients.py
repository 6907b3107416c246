"""The real SDK clients, of both lines and all ways to negotiate, and the Inspector, over pipes and
HTTP.

    clients.py PROGRAM BUILD_DIRECTORY [unittest arguments]"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tier  # noqa: E402
from npm import HERE, Packages
from suite import Server

PATIENCE = 120
PROGRAM = PACKAGES = None


class Clients(unittest.TestCase):
    def run_node(self, *arguments):
        return subprocess.run([PACKAGES.node, *arguments], cwd=PACKAGES.top, env=PACKAGES.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=PATIENCE)

    def expect_content(self, sdk, mode, transport, *target, script="clients.mjs"):
        done = self.run_node(str(HERE / script), sdk, mode, transport, *target)
        self.assertEqual((done.returncode, done.stdout), (0, b"ok\n"), done.stderr.decode(errors="replace"))

    def over_both(self, sdk, mode):
        self.expect_content(sdk, mode, "stdio", PROGRAM, "mcp")
        with Server(PROGRAM) as server:
            self.expect_content(sdk, mode, "http", server.url)

    def test_sdk_v1(self):
        self.over_both("v1", "legacy")

    def test_sdk_v2_legacy(self):
        self.over_both("v2", "legacy")

    def test_sdk_v2_auto(self):
        self.over_both("v2", "auto")

    def test_sdk_v2_pinned(self):
        self.over_both("v2", "pin")

    def test_changed_tools_are_noticed(self):
        upstream = f'[[upstream]]\nname = "up"\ncommand = ["{sys.executable}", "{HERE / "growing_server.py"}"]\n'
        for sdk, mode in (("v1", "legacy"), ("v2", "legacy"), ("v2", "pin")):
            with self.subTest(sdk + " " + mode), tempfile.TemporaryDirectory() as directory:
                config = pathlib.Path(directory) / "caisson.toml"
                config.write_text('[store]\nurl = "memory:"\n' + upstream)
                self.expect_content(sdk, mode, "stdio", PROGRAM, "mcp", "--config", str(config), script="changes.mjs")
                with Server(PROGRAM, more_config=upstream) as server:
                    self.expect_content(sdk, mode, "http", server.url, script="changes.mjs")

    def inspect(self, *arguments):
        done = self.run_node(PACKAGES.script("@modelcontextprotocol/inspector", "clients/launcher/build/index.js"),
                             "--cli", *arguments)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def test_inspector(self):
        call = ("--method", "tools/call", "--tool-name", "execute_code", "--tool-arg", "code=6*7")
        with Server(PROGRAM) as server:
            for target in ((PROGRAM, "mcp"), (server.url, "--transport", "http")):
                names = [tool["name"] for tool in self.inspect(*target, "--method", "tools/list")["tools"]]
                self.assertEqual(names, ["execute_code", "wait_for_run"])
                self.assertEqual(self.inspect(*target, *call)["structuredContent"]["result"], 42)


if __name__ == "__main__":
    PROGRAM = tier.program(sys.argv.pop(1))
    PACKAGES = Packages(sys.argv.pop(1))
    unittest.main(verbosity=2)
