"""The snippets of docs/guides/mcp.md: each is parsed as the client parses it, and the program that
it starts answers."""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

import harness
from harness import CliTest, PATIENCE, run_suite

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guides" / "mcp.md"
SNIPPET = re.compile(r"<!-- snippet: (\w+) -->\n```(json|toml)\n(.*?)```", re.DOTALL)
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "guide", "version": "1"}}}


class Guide(CliTest):
    def expect_answer(self, command, arguments):
        self.assertEqual(command, "caisson")
        done = subprocess.run([harness.PROGRAM, *arguments], input=json.dumps(INITIALIZE).encode() + b"\n",
                              stdout=subprocess.PIPE, timeout=PATIENCE, cwd=self.work)
        self.assertEqual(json.loads(done.stdout)["result"]["serverInfo"]["name"], "caisson")

    def test_each_client_s_snippet_starts_a_server_that_answers(self):
        snippets = SNIPPET.findall(GUIDE.read_text())
        self.assertEqual(sorted(name for name, _, _ in snippets), ["mcpServers", "mcp_servers", "servers"])
        for name, kind, text in snippets:
            entry = (json.loads if kind == "json" else tomllib.loads)(text)[name]["caisson"]
            self.expect_answer(entry["command"], entry["args"])
        claude = re.search(r"claude mcp add caisson -- (caisson) (.*)", GUIDE.read_text())
        self.expect_answer(claude[1], claude[2].split())

    def test_the_upstream_table_is_one_that_is_understood(self):
        table = re.search(r"```toml\n(\[\[upstream\]\].*?)```", GUIDE.read_text(), re.DOTALL)[1]
        table = re.sub(r"command = \[.*?\]", 'command = ["./nothing"]', table)
        done = self.run_code("6 * 7", "--config", self.put("caisson.toml", table))
        self.assertEqual((done.status, done.out), (0, b"42\n"), done)


if __name__ == "__main__":
    run_suite(sys.modules[__name__])
