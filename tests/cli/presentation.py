"""Calls are shown in the same way at every door: the arguments that were hashed, with nothing
hidden."""

import __main__
import json
import pathlib
import re
import subprocess
import sys

import harness
import mcp
import serve

HIDDEN = "\u202e\u200b"
# A command tool takes JSON; an http tool also takes bytes.
TOOLS = """
[policy]
preset = "open"
[[tool]]
name = "send"
kind = "command"
command = ["./send.sh"]
approval = "always"
input_schema = { type = "object", additionalProperties = true }
[[tool]]
name = "post"
kind = "http"
approval = "always"
[[tool.allow]]
url = "http://127.0.0.1:9/in/"
methods = ["POST"]
allow_private = true
"""
UPSTREAM = """
[[upstream]]
name = "other"
command = ["{python}", "other.py"]
approval = "always"
"""
SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    result = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": [{"name": "take", "inputSchema": {"type": "object", "additionalProperties": True}}]},
              "tools/call": {"content": [{"type": "text", "text": "taken"}]}}.get(m["method"])
    answer = {"error": {"code": -32601, "message": "no"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **answer}), flush=True)
"""
CALL = r"""post(url="http://127.0.0.1:9/in/x", method="POST", body=b"\xff\x00",
    headers={"X-To": "a\u202eb\u200bc", "X-\u0041": "1e16"})"""
SHOWN = {"url": "http://127.0.0.1:9/in/x", "method": "POST", "body": {"$bytes": "_wA"},
         "headers": {"X-To": "a\u202eb\u200bc", "X-A": "1e16"}}


def documented_digest():
    """The function of docs/approvals.md that computes arguments_sha256."""
    page = (pathlib.Path(__file__).parents[2] / "docs/approvals.md").read_text()
    names = {}
    exec(re.search("```python\n(.*?)```", page, re.DOTALL).group(1), names)
    return names["arguments_sha256"]


class Presentation(serve.ServeSend):
    def expect_nothing_hidden(self, text):
        text = text if isinstance(text, str) else text.decode()
        for character in HIDDEN:
            self.assertNotIn(character, text)

    def command_line(self, *arguments):
        done = self.caisson(*arguments, "--config", "caisson.toml")
        self.assertEqual(done.status, 0, done)
        self.expect_nothing_hidden(done.out)
        return done.out.decode()

    def test_rest_and_the_command_line_show_what_was_hashed(self):
        process = self.serve(TOOLS)
        answer = self.ask("POST", "/v1/runs", {"code": CALL})
        asked, = answer.json["outcome"]["approvals"]
        id, run = asked["id"], answer.json["id"]
        approval = self.ask("GET", "/v1/approvals/" + id)
        shown = [answer.body, self.ask("GET", "/v1/runs/" + run).body, approval.body,
                 self.ask("GET", "/v1/approvals").body]
        for text in shown:
            self.expect_nothing_hidden(text)
        arguments = [approval.json["arguments"]]
        for outcome in (answer.json["outcome"], json.loads(shown[1])["outcome"],
                        json.loads(self.command_line("runs", "show", run, "--json"))["outcome"]):
            arguments += [outcome["approvals"][0]["arguments"], outcome["calls"][0]["arguments"]]
        arguments += [json.loads(self.command_line("approvals", "show", id, "--json"))["arguments"],
                      json.loads(self.command_line("approvals", "list", "--json"))["items"][0]["arguments"]]
        for one in arguments:
            self.assertEqual(one, SHOWN)
        for text in (self.command_line("approvals", "show", id), self.command_line("approvals", "list")):
            self.assertIn(r'"X-To":"a\u202eb\u200bc"', text)
            self.assertIn('{"$bytes":"_wA"}', text)
        # It stays so when the run has ended and is only in the store.
        self.ask("POST", "/v1/approvals/" + id, {"decision": "deny"})
        self.await_run(run)
        self.stop(process)
        ended = json.loads(self.command_line("runs", "show", run, "--json"))["outcome"]
        self.assertEqual((ended["calls"][0]["arguments"], ended["calls"][0]["outcome"]), (SHOWN, "denied"))

    def test_arguments_sha256_is_what_the_page_about_approvals_says(self):
        digest = documented_digest()
        process = self.serve(TOOLS)
        for call in (CALL, "send()", 'send(text="ü\\u202e\\n\\x7f\\\\\\"\\U0001f600", **{"\\ufb01": 1, "\\U0001f600": 2})',
                     "send(a=1, b=1.0, c=-0.0, d=1e16, e=1e-7, f=5e-324, g=1.5e300, h=2**70, i=True, j=None)",
                     "send(a=(1, (2,)), b=[[], {}], c={'$x': 1}, d={'$x': 1, 'y': 2})"):
            asked, = self.run_code(call)["outcome"]["approvals"]
            approval = self.ask("GET", "/v1/approvals/" + asked["id"])
            self.assertEqual(digest(approval.body), approval.json["arguments_sha256"], call)
            text = self.command_line("approvals", "show", asked["id"], "--json")
            self.assertEqual(digest(text), approval.json["arguments_sha256"], call)
        self.stop(process)

    def start_mcp(self):
        self.put("caisson.toml", serve.MEMORY + TOOLS)
        process = self.start("mcp", "--config", "caisson.toml", stdin=subprocess.PIPE)
        return mcp.Client(self, process)

    def test_mcp_shows_what_was_hashed(self):
        client = self.start_mcp()
        raw = []
        client.lines.put, put = lambda line: (raw.append(line), put(line)), client.lines.put
        client.initialize(elicitation={})
        request = client.ask("tools/call", {"name": "execute_code", "arguments": {"code": CALL}})
        question = client.receive()
        self.assertIn(r'"X-To":"a\u202eb\u200bc"', question["params"]["message"])
        client.send(id=question["id"], result={"action": "decline"})
        denied = client.reply_to(request)["result"]["structuredContent"]
        self.assertEqual(denied["calls"][0]["arguments"], SHOWN)
        params = mcp.modern({"name": "execute_code", "arguments": {"code": CALL}})
        waiting = client.result("tools/call", params)["structuredContent"]
        self.assertEqual((waiting["approvals"][0]["arguments"], waiting["calls"][0]["arguments"]), (SHOWN, SHOWN))
        params["_meta"][mcp.META + "clientCapabilities"] = {"elicitation": {}}
        asked = client.result("tools/call", params)
        (_, question), = asked["inputRequests"].items()
        self.assertIn(r'"X-To":"a\u202eb\u200bc"', question["params"]["message"])
        for line in raw:
            self.expect_nothing_hidden(line or b"")
        client.close()

    def test_nobody_is_asked_about_what_a_tool_cannot_take(self):
        self.put("other.py", SERVER)
        process = self.serve(TOOLS + UPSTREAM.format(python=sys.executable))
        values = "float('nan'), b'x', {1: 2}, [{'a': float('-inf')}], 10**5000"
        url = "'http://127.0.0.1:9/in/x'"
        run = self.run_code(f"""
said = []
def refused(tool, **given):
    try: tool(**given)
    except ToolError as e: said.append(e.type + ': ' + e.message)
for value in ({values}):
    refused(send, to=value)
    refused(other_take, to=value)
    refused(post, url={url}, method='POST', json=value)
deep = None
for _ in range(198): deep = [deep]
refused(other_take, to=deep)  # 198 levels in a dict, inside the two levels of a request.
long_ints = [10**4299] * 200
refused(send, to=long_ints)
refused(other_take, to=long_ints)
refused(post, url={url}, method='POST', json=long_ints)
refused(post, url={url}, method='POST', headers={{'X-Original-URL': '/admin'}})
refused(post, url={url}, method='POST', headers={{'X_HTTP_Method_Override': 'DELETE'}})
refused(post, url='http://127.0.0.1:9/else', method='POST')
said""")
        self.assertEqual(run["state"], "finished", run)
        outcome = run["outcome"]
        said = outcome["result"]
        self.assertEqual(len(said), 22, outcome)
        for one in said[:15]:
            self.assertRegex(one, "^TypeError: .*JSON cannot hold", said)
        self.assertIn("argument /to: JSON cannot hold NaN or infinity", said[0])
        self.assertRegex(said[15], "^TypeError: .*nested too deeply")
        for one in said[16:19]:
            self.assertRegex(one, "^TypeError: .*too many digits together", said)
        self.assertIn("cannot be set", said[19])
        self.assertIn("cannot be set", said[20])
        self.assertIn("PermissionError: POST http://127.0.0.1:9/else is not allowed", said[21])
        self.assertEqual({call["outcome"] for call in outcome["calls"]}, {"raised"})
        marks = [{"$float": "nan"}, {"$bytes": "eA"}, {"$dict": [[1, 2]]}, [{"a": {"$float": "-inf"}}],
                 {"$int": hex(10**5000)}]
        self.assertEqual([call["arguments"] for call in outcome["calls"] if call["tool"] == "send"][:5],
                         [{"to": mark} for mark in marks])
        self.assertEqual(self.ask("GET", "/v1/approvals").json["items"], [])
        self.assertEqual(self.sent(), [])
        self.stop(process)

    def test_a_doubtful_call_is_caught_by_name(self):
        """The server dies while a tool runs; its successor continues the run."""
        self.put("slow.sh", "#!/bin/sh\ntouch begun\nexec sleep 1000\n")
        (self.work / "slow.sh").chmod(0o755)
        self.kept.add("begun")
        config = serve.SEND + '[[tool]]\nname = "slow"\nkind = "command"\ncommand = ["./slow.sh"]\n'
        process = self.serve(config)
        run = self.run_code("try: slow()\nexcept UncertainError as e: r = [e.type, isinstance(e, ToolError)]\nr", wait=False)
        self.wait_until((self.work / "begun").exists, "the tool is at work")
        process.kill()
        process.wait()
        process = self.serve(config)
        outcome = self.await_run(run["id"])["outcome"]
        self.assertEqual(outcome["result"], ["UncertainError", True], outcome)
        self.assertEqual(outcome["calls"][0]["outcome"], "uncertain")
        self.stop(process)


class LongInts(harness.CliTest):
    """Python's json refuses an integer of more than 4,300 digits. These tests read every outcome with it."""

    DIGITS = "1" + "0" * 5000

    def test_a_long_int_is_in_the_repr(self):
        for engine in ("wasm", "native"):
            for code, repr in (("10**5000", self.DIGITS),
                               ("{'a': [1, -10**5000]}", "{'a': [1, -" + self.DIGITS + "]}")):
                outcome = self.outcome_of(code, "--engine", engine)
                self.assertEqual((outcome["has_result"], outcome["result"], outcome["result_repr"]), (True, None, repr))
                self.assertEqual(self.run_code(code, "--engine", engine).out.decode(), repr + "\n")
            self.assertEqual(self.outcome_of("10**4299", "--engine", engine)["result"], 10**4299)

    def test_a_long_int_is_in_the_repr_over_mcp(self):
        client = mcp.Client(self, self.start("mcp", stdin=subprocess.PIPE))
        client.initialize()
        result = client.run_code("[10**5000]")
        self.assertEqual(result["structuredContent"]["result_repr"], f"[{self.DIGITS}]")
        self.assertEqual(result["content"][0]["text"], f"[{self.DIGITS}]")
        client.close()


if __name__ == "__main__":
    harness.run_suite(__main__)
