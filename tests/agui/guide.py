"""docs/guides/agui.md is correct: its examples are run, and their output is compared.

    guide.py PROGRAM BUILD_DIRECTORY [unittest arguments]"""

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
from agui_client import CaissonServer  # noqa: E402

GUIDE = (HERE.parents[1] / "docs/guides/agui.md").read_text()
PATIENCE = 60
PROGRAM = PACKAGES = None


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.S)


class Guide(unittest.TestCase):
    def test_every_example_does_what_it_shows(self):
        (config,) = blocks("toml")
        (script,) = blocks("js")
        with CaissonServer(PROGRAM, config) as server:
            environment = {**PACKAGES.environment, "URL": server.url}
            run = lambda *command: subprocess.run(command, env=environment, cwd=PACKAGES.top, text=True,
                                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                  stderr=subprocess.STDOUT, timeout=PATIENCE)
            (PACKAGES.top / "agui_guide.mjs").write_text(script)
            done = run(PACKAGES.node, "agui_guide.mjs")
            self.assertEqual(done.stdout, "Approve the call of send?\nuser assistant tool assistant\n")
            count = 0
            for block in blocks("console"):
                command, _, expected = block.removeprefix("$ ").partition("\n")
                done = run("bash", "-c", command)
                pattern = ".*".join(re.escape(piece) for piece in expected.strip().split("…"))
                self.assertRegex(done.stdout.strip(), re.compile(r"\A" + pattern + r"\Z", re.S), command)
                count += 1
            self.assertEqual(count, 2)


if __name__ == "__main__":
    PROGRAM = tier.program(sys.argv.pop(1))
    PACKAGES = Packages(sys.argv.pop(1))
    unittest.main(verbosity=2)
