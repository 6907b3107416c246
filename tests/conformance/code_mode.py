"""Runs examples/code-mode with the two public servers that it names, which are installed beforehand
instead of by npx.

    code_mode.py PROGRAM BUILD_DIRECTORY [unittest arguments]"""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tier  # noqa: E402
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

    def test_tools_that_write_need_an_approval(self):
        code = "write_file(path='new.txt', content='x')"
        self.assertEqual(self.run_code("--approve", "none", code=code)["calls"][0]["outcome"], "denied")
        self.assertFalse((self.work / "data" / "new.txt").exists())
        self.assertEqual(self.run_code("--approve", "all", code=code)["status"], "completed")
        self.assertEqual((self.work / "data" / "new.txt").read_text(), "x")

    def test_a_refusal_of_a_server_is_an_exception(self):
        outcome = self.run_code(code="read_text_file(path='/etc/passwd')")
        self.assertEqual((outcome["status"], outcome["error"]["type"]), ("failed", "ToolError"), outcome)

    def converse(self, command, *calls):
        """Returns the texts of a server's answers, to tools/list and then to calls."""
        server = subprocess.Popen(command, cwd=self.work, env=PACKAGES.environment, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdin.close)

        def ask(number, method, params):
            print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}), file=server.stdin,
                  flush=True)
            for line in server.stdout:
                if json.loads(line).get("id") == number and "method" not in json.loads(line):
                    return json.dumps(json.loads(line)["result"], separators=(",", ":"), ensure_ascii=False)
            self.fail("it has gone")
        ask(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                              "clientInfo": {"name": "t", "version": "1"}})
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), file=server.stdin, flush=True)
        return [ask(1, "tools/list", {})] + [ask(number, "tools/call", {"name": name, "arguments": arguments})
                                             for number, (name, arguments) in enumerate(calls, 2)]

    def test_the_guide_says_what_it_saves(self):
        config = tomllib.loads((self.work / "caisson.toml").read_text())
        demo, files = (upstream["command"] for upstream in config["upstream"])
        weather = [("get-structured-content", {"location": city}) for city in ("New York", "Chicago", "Los Angeles")]
        of_demo = self.converse(demo, *weather, ("get-sum", {"a": 2, "b": 40}))
        of_files = self.converse(files, ("read_text_file", {"path": "notes.txt"}))
        code = (self.work / "code_mode.py").read_text()
        ours = self.converse([PROGRAM, "mcp", "--config", "caisson.toml"], ("execute_code", {"code": code}))
        shown = "".join(block["text"] for block in json.loads(ours[1])["content"])
        size = lambda *texts: sum(len(text.encode()) for text in texts)
        described = json.dumps(json.loads(ours[0])["tools"][0], separators=(",", ":"), ensure_ascii=False)
        measured = {"definitions": size(of_demo[0], of_files[0]), "execute_code": size(described),
                    "results": size(*of_demo[1:], *of_files[1:]), "shown": size(shown)}
        guide = (HERE.parent.parent / "docs" / "guides" / "mcp.md").read_text()
        told = {name: int(number.replace(",", "")) for name, number in
                re.findall(r"<!-- measured: (\w+) --> ([0-9,]+)", guide)}
        self.assertEqual(sorted(told), sorted(measured), measured)
        tools = sum(len(json.loads(answers[0])["tools"]) for answers in (of_demo, of_files))
        self.assertIn(f"({tools} tools;", guide)
        for name, number in measured.items():  # The weather and the wording of the signatures vary a little.
            self.assertAlmostEqual(told[name], number, delta=max(40, number // 10), msg=str(measured))

    def test_a_public_server_over_http(self):
        with socket.socket() as free:  # The port that it chose cannot be queried.
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
    PROGRAM = tier.program(sys.argv.pop(1))
    PACKAGES = Packages(sys.argv.pop(1))
    unittest.main(verbosity=2)
