"""Runs each example with the command at its top, and compares the output."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tier  # noqa: E402

PROGRAM = None
EXAMPLES = None
COMMAND = re.compile(r"^#   caisson (run .*?)(?:\s+# exit status (\d+))?$", re.MULTILINE)


class Examples(unittest.TestCase):
    def run_example(self, name):
        """Runs a copy of the example; returns the folder it ran in."""
        directory = tempfile.TemporaryDirectory(prefix="caisson-example-")
        self.addCleanup(directory.cleanup)
        folder = pathlib.Path(directory.name) / name
        shutil.copytree(EXAMPLES / name, folder)
        command, status = COMMAND.search((folder / f"{name}.py").read_text()).groups()
        done = subprocess.run([PROGRAM, *shlex.split(command)], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, (folder / "expected.txt").read_text(), done.stderr)
        self.assertEqual(done.returncode, int(status or 0), done.stderr)
        return folder

    def test_models(self):
        keys = ("OPENAI_API_KEY", "MODEL_KEY", "ANTHROPIC_API_KEY")
        environment = {"PATH": "/usr/bin:/bin", **dict.fromkeys(keys, "a-key-for-this-test")}
        files = sorted((EXAMPLES / "models").glob("*.toml"))
        self.assertEqual(len(files), 6)
        for file in files:
            with self.subTest(file.name):
                done = subprocess.run([PROGRAM, "config", "check", "--config", file], text=True,
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                      env=environment)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_hello(self):
        self.run_example("hello")

    def test_tools(self):
        self.run_example("tools")

    def test_files(self):
        folder = self.run_example("files")
        self.assertEqual((folder / "results" / "totals.csv").read_text(), "north,150\nsouth,80\n")
        self.assertEqual((folder / "data" / "sales.csv").read_text(),
                         (EXAMPLES / "files" / "data" / "sales.csv").read_text())

    def test_gather(self):
        self.run_example("gather")

    def test_limits(self):
        self.run_example("limits")

    def test_agents(self):
        directory = tempfile.TemporaryDirectory(prefix="caisson-example-")
        self.addCleanup(directory.cleanup)
        folder = pathlib.Path(directory.name) / "agents"
        shutil.copytree(EXAMPLES / "agents", folder)
        done = subprocess.run([sys.executable, "agents.py", PROGRAM], cwd=folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, (folder / "expected.txt").read_text())
        self.assertEqual((folder / "notes.txt").read_text().count("text"), 2)

    def test_every_example_is_run(self):
        # Those have separate tests
        folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()} - {"embed", "code-mode", "foundry-hosted",
                                                                                "workflow"}
        tests = {name.removeprefix("test_") for name in dir(self) if name.startswith("test_")}
        self.assertEqual(folders, tests - {"every_example_is_run"})


if __name__ == "__main__":
    PROGRAM = tier.program(sys.argv.pop(1))
    EXAMPLES = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
