"""examples/code-mode against the two public servers it names, installed beforehand in place of npx.

    code_mode.py PROGRAM BUILD_DIRECTORY [unittest arguments]
"""

import json
import pathlib
import re
import shutil
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


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    PACKAGES = Packages(sys.argv.pop(1))
    unittest.main(verbosity=2)
