"""Tools of other MCP servers in the code: good servers, bad ones, and ones that change."""

import json
import sys
import time

from harness import CliTest, run_suite

# An MCP server whose first argument selects its behaviour.
SERVER = r'''
import json, os, sys, time
mode = sys.argv[1]
starts = os.path.join(os.path.dirname(os.path.abspath(__file__)), "starts")
with open(starts, "a") as log: log.write("x")
count = os.path.getsize(starts)

def tool(name, description="A tool."):
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": {
        "n": {"type": "integer"}, "s": {"type": "string"}}}, "annotations": {"readOnlyHint": name == "read"}}

def send(**fields): print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)

changed = False
for line in sys.stdin:
    m = json.loads(line)
    method, params = m.get("method"), m.get("params", {})
    modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
    if "id" not in m: continue
    def answer(**result): send(id=m["id"], result=result)
    def refuse(code, message): send(id=m["id"], error={"code": code, "message": message})
    if mode == "silent": time.sleep(1000)
    if mode == "noise" : print("this is no JSON", flush=True); send(method="notifications/odd")
    if mode == "modern" and not modern: refuse(-32022, "2026-07-28 only")
    elif method == "initialize":
        answer(protocolVersion="2025-06-18", capabilities={"tools": {}}, serverInfo={"name": "s", "version": "1"})
    elif method == "server/discover" and mode == "modern":
        answer(supportedVersions=["2026-07-28"], capabilities={"tools": {}}, resultType="complete", ttlMs=0,
               cacheScope="private")
    elif method == "tools/list":
        if mode == "pages":
            page = int(params.get("cursor", "0"))
            more = {"nextCursor": str(page + 1)} if page < 2 else {}
            answer(tools=[tool(f"p{page}")], **more)
        else:
            tools = [tool("add", "Another." if changed else "A tool."), tool("read"), tool("we-ird.name"), tool("env"),
                     {"name": "move", "inputSchema": {"type": "object", "required": ["source", "destination"], "properties": {
                         "mode": {"type": "string"}, "source": {"type": "string"}, "destination": {"type": "string"}}}}]
            if mode == "schema": tools.append({"name": "liar", "inputSchema": {"type": 5}})
            answer(tools=tools, resultType="complete")
    elif method == "tools/call":
        given = params.get("arguments", {})
        if mode == "dies" and count % 2 == 0 or mode == "crash": sys.exit(3)
        if mode == "hangs": time.sleep(1000)
        if mode == "floods":
            while True: print("y" * 1000000, end="")
        if mode == "asks":
            send(id="q", method="sampling/createMessage", params={})
            assert json.loads(sys.stdin.readline())["error"]["code"] == -32601
        if params["name"] == "move": answer(content=[], structuredContent=given)
        elif params["name"] == "env":
            answer(content=[], structuredContent=dict(os.environ))
        elif params["name"] == "read": answer(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
        elif given.get("s") == "fail": answer(isError=True, content=[{"type": "text", "text": "it went wrong"}])
        elif given.get("s") == "bytes":
            answer(content=[{"type": "image", "mimeType": "image/png", "data": "AAEC"}])
        else:
            if mode == "changes" and not changed:
                changed = True
                send(method="notifications/tools/list_changed")
            answer(content=[{"type": "text", "text": "text"}],
                   structuredContent={"sum": given.get("n", 0) + 1}, resultType="complete")
    else: refuse(-32601, "no")
'''


class Upstreams(CliTest):
    def config(self, mode, *lines):
        self.put("server.py", SERVER)
        self.kept.add("starts")
        return self.put("caisson.toml", "\n".join(
            ["[store]", 'url = "memory:"', "[[upstream]]", 'name = "up"', f'command = ["{sys.executable}", "server.py", "{mode}"]', *lines]))

    def outcome(self, code, mode="good", *lines, approve="none"):
        return self.outcome_of(code, "--config", self.config(mode, *lines), "--approve", approve)

    def value(self, code, *arguments, **options):
        outcome = self.outcome(code, *arguments, **options)
        self.assertEqual(outcome["status"], "completed", outcome)
        return outcome["result"]

    def test_structured_results_are_native_values(self):
        self.assertEqual(self.value("up_add(n=41)['sum'] + 1"), 43)

    def test_texts_data_and_names(self):
        self.assertEqual(self.value("up_read()"), ["a", "b"])
        self.assertEqual(self.value("list(up_add(s='bytes'))"), [0, 1, 2])
        self.assertEqual(self.value("up_we_ird_name(n=1)"), {"sum": 2})

    def test_arguments_without_names_are_in_the_servers_order_and_required_ones_come_first(self):
        self.assertEqual(self.value("up_move('a.txt', 'b.txt', 'copy')"),
                         {"source": "a.txt", "destination": "b.txt", "mode": "copy"})

    def test_failures_are_exceptions(self):
        outcome = self.outcome("up_add(s='fail')")
        self.assertEqual(outcome["error"]["type"], "ToolError")
        self.assertIn("it went wrong", outcome["error"]["message"])

    def test_arguments_are_checked_before_the_server_sees_them(self):
        self.assertEqual(self.outcome("up_add(n='x')")["status"], "rejected")

    def test_a_server_of_the_modern_era(self):
        self.assertEqual(self.value("up_add(n=1)['sum']", "modern"), 2)

    def test_pages_noise_questions_and_schemas_that_lie(self):
        self.assertEqual(self.value("[up_p0(), up_p2()] and 1", "pages"), 1)
        self.assertEqual(self.value("up_add(n=1)['sum']", "noise"), 2)
        self.assertEqual(self.value("up_add(n=1)['sum']", "asks"), 2)
        self.assertEqual(self.value("up_add(n=1)['sum']", "schema"), 2)

    def test_lists_and_prefixes(self):
        self.assertEqual(self.value("add(n=1)['sum']", "good", 'prefix = ""', 'allow = ["add"]'), 2)
        self.assertEqual(self.outcome("read()", "good", 'prefix = ""', 'allow = ["add"]')["status"], "failed")
        self.assertEqual(self.outcome("up_add()", "good", 'deny = ["add"]')["status"], "failed")

    def test_approval(self):
        lines = ('approval = "always"', "trust_read_only = true")
        self.assertEqual(self.outcome("up_add()", "good", *lines)["calls"][0]["outcome"], "denied")
        self.assertEqual(self.value("up_add(n=1)['sum']", "good", *lines, approve="all"), 2)
        self.assertEqual(self.value("up_read()", "good", *lines), ["a", "b"])
        # The hint counts only if the operator says so, and never for a name on the list.
        self.assertEqual(self.outcome("up_read()", "good", lines[0])["calls"][0]["outcome"], "denied")
        self.assertEqual(self.outcome("up_read()", "good", lines[1], 'ask = ["read"]')["calls"][0]["outcome"],
                         "denied")

    def test_a_server_gets_the_environment_it_was_given(self):
        given = self.value("up_env()", "good", 'env = { TOKEN = "t" }')
        self.assertEqual(given["TOKEN"], "t")
        self.assertNotIn("TMPDIR", given)

    def test_a_server_that_dies_is_started_again(self):
        code = """
import asyncio
results = []
for i in range(40):
    try:
        results.append(up_add(n=i)['sum'])
        break
    except ToolError as error:
        await asyncio.sleep(0.05)
results"""
        self.assertEqual(len(self.value(code, "dies")), 1)

    def test_one_that_crashes_hangs_or_floods_harms_its_own_calls_only(self):
        for mode in ("crash", "floods"):
            self.assertEqual(self.outcome("up_add()", mode)["status"], "failed", mode)
        begun = time.monotonic()
        outcome = self.outcome("try:\n    up_add()\nexcept ToolError as e:\n    r = 'gone on'\nr", "hangs",
                               "timeout_seconds = 0.3")
        self.assertEqual(outcome["result"], "gone on")
        self.assertLess(time.monotonic() - begun, 9)

    def test_a_tool_that_has_changed_is_not_called_any_more(self):
        outcome = self.outcome("up_add(n=1)\nup_add(n=1)", "changes")
        self.assertEqual([call["outcome"] for call in outcome["calls"]], ["returned", "raised"])
        self.assertIn("changed", outcome["error"]["message"])

    def test_a_server_that_is_not_there_is_told_and_the_rest_works(self):
        config = self.put("caisson.toml", '[[upstream]]\nname = "up"\ncommand = ["./nothing"]\n')
        done = self.run_code("1 + 1", "--config", config)
        self.assertEqual(done.status, 0, done)
        self.assertIn(b"up", done.err)

    def test_mcp_offers_them_to_the_model_as_signatures(self):
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        done = self.caisson("mcp", "--config", self.config("good"), code=json.dumps(request) + "\n")
        tools = json.loads(done.out)["result"]["tools"]
        self.assertIn("up_add(", tools[0]["description"])


if __name__ == "__main__":
    run_suite(sys.modules[__name__])
