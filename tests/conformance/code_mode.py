"""examples/code-mode against the two public servers it names, installed beforehand in place of npx.

    code_mode.py PROGRAM BUILD_DIRECTORY [unittest arguments]
"""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from npm import HERE, Packages

PATIENCE = 120
PROGRAM = PACKAGES = None
EXAMPLE = HERE.parent.parent / "examples" / "code-mode"


class CodeMode(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="caisson-code-mode-")
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name) / "code-mode"
        shutil.copytree(EXAMPLE, self.work)
        config = self.work / "caisson.toml"
        config.write_text(re.sub(
            r'"npx", "-y", "(@modelcontextprotocol/[a-z-]+)@[0-9.]+"',
            lambda match: f'"{PACKAGES.node}", "{PACKAGES.script(match[1], "dist/index.js")}"', config.read_text()))

    def run_code(self, *arguments, code=None):
        done = subprocess.run([PROGRAM, "run", "--json", "--config", "caisson.toml", *arguments], cwd=self.work,
                              input=None if code is None else code.encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertTrue(done.stdout, done.stderr.decode(errors="replace"))
        return json.loads(done.stdout)

    def test_the_example(self):
        outcome = self.run_code("code_mode.py")
        self.assertEqual(outcome["status"], "completed", outcome)
        self.assertRegex(outcome["stdout"], r"^(New York|Chicago|Los Angeles) is warmest; 2 lines of notes\n$")
        self.assertEqual(len(outcome["calls"]), 5)

    def test_what_writes_needs_a_yes(self):
        code = "write_file(path='new.txt', content='x')"
        self.assertEqual(self.run_code("--approve", "none", code=code)["calls"][0]["outcome"], "denied")
        self.assertFalse((self.work / "data" / "new.txt").exists())
        self.assertEqual(self.run_code("--approve", "all", code=code)["status"], "completed")
        self.assertEqual((self.work / "data" / "new.txt").read_text(), "x")

    def test_what_a_server_refuses_is_an_exception(self):
        outcome = self.run_code(code="read_text_file(path='/etc/passwd')")
        self.assertEqual((outcome["status"], outcome["error"]["type"]), ("failed", "ToolError"), outcome)

    def test_a_public_server_over_http(self):
        with socket.socket() as free:  # It cannot be asked which port it took.
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [PACKAGES.node, PACKAGES.script("@modelcontextprotocol/server-everything", "dist/index.js"),
             "streamableHttp"], env={**PACKAGES.environment, "PORT": str(port)}, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        while b"listening" not in (line := server.stderr.readline()):
            self.assertTrue(line, "it did not start")
        (self.work / "caisson.toml").write_text(f'[[upstream]]\nname = "far"\nurl = "http://127.0.0.1:{port}/mcp"\n')
        outcome = self.run_code(code="import asyncio\nawait asyncio.gather(far_echo(message='a'), far_get_sum(a=2, b=3))")
        self.assertEqual(outcome["status"], "completed", outcome)
        self.assertIn("a", outcome["result"][0])
        self.assertIn("5", outcome["result"][1])


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    PACKAGES = Packages(sys.argv.pop(1))
    unittest.main(verbosity=2)
