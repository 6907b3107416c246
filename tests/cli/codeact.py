"""CodeAct on the command line, on both engines: policy, misbehaving tools, files at their caps."""

import __main__
import http.server
import json
import signal
import socket
import subprocess
import threading

import harness

ENGINES = ("wasm", "native")

# The faults of a program behind a tool, by the name of the tool.
MISBEHAVIOUR = {
    "hangs": "while True: signal.pause()",
    "crashes": "os.kill(os.getpid(), signal.SIGSEGV)",
    "fails": "sys.exit(3)",
    "floods": "while True: sys.stdout.write('x' * 65536)",
    "says_no_json": "print('{\"a\": ')",
    "says_two_things": "print('1 2')",
    "nests": "print('[' * 100_000 + ']' * 100_000)",
    "says_no_utf8": "sys.stdout.buffer.write(b'\"\\xff\"')",
}
GOOD = {
    "babbles": "sys.stderr.write('noise\\n' * 100_000); print('\"done\"')",
    "leaves_a_child": "\nif os.fork() == 0:\n    signal.pause()\nprint('\"done\"')",
    "does_not_read": "sys.stdin.close(); print('\"done\"')",
    "says_nothing": "pass",
    "echo": "print(json.dumps(given))",
}
PROGRAM = "#!/usr/bin/env python3\nimport json, os, signal, sys\n"


# A server on this machine that must not be reachable, although rules name it.
FETCH = """
[[tool]]
name = "fetch"
kind = "http"
timeout_seconds = 5
[[tool.allow]]
url = "http://allowed.invalid/"
methods = ["GET"]
[[tool.allow]]
url = "http://localhost:{port}/"
methods = ["GET"]
[[tool.allow]]
url = "http://127.0.0.1:{port}/"
methods = ["GET"]
"""
# The same, if the operator allows it.
FETCH_HERE = """
[[tool]]
name = "fetch"
kind = "http"
[[tool.allow]]
url = "http://127.0.0.1:{port}/open"
methods = ["GET"]
allow_private = true
"""
ADDRESSES = [
    "http://localhost:{port}/", "http://127.0.0.1:{port}/", "http://127.1:{port}/", "http://2130706433:{port}/",
    "http://0x7f000001:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://[::1]:{port}/", "http://0:{port}/",
    "http://localhost.:{port}/", "http://allowed.invalid@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@allowed.invalid/",
    "http://127.0.0.1\0.allowed.invalid:{port}/", "http://169.254.169.254/latest/meta-data/", "http://allowed.invalid./",
    "http://\u24db\u24de\u24d2alhost:{port}/", "http://LOCALHOST%2e:{port}/", "http://other.invalid/", "file:///etc/passwd",
    "http://allowed.invalid:{port}/", "https://allowed.invalid/", "", "http://", "x" * 100_000,
]


class CodeAct(harness.CliTest):
    def tool(self, name, body, schema='{ type = "object", additionalProperties = true }'):
        reads = "given = json.load(sys.stdin)\n" if name not in ("does_not_read",) else ""
        file = self.put(f"{name}.py", PROGRAM + reads + body + "\n")
        (self.work / file).chmod(0o755)
        return (f'[[tool]]\nname = "{name}"\nkind = "command"\ncommand = ["./{file}"]\ntimeout_seconds = 3\n'
                f'max_output_bytes = 1000000\ninput_schema = {schema}\n')

    def config(self, *tools):
        return "--config", self.put("caisson.toml", "".join(tools))

    def test_a_tool_that_misbehaves_is_a_tool_error_and_the_run_goes_on(self):
        config = self.config(*(self.tool(n, b) for n, b in {**MISBEHAVIOUR, **GOOD}.items()))
        code = ("import asyncio\nasync def ask(name):\n    try: return await call_tool(name)\n"
                "    except ToolError as error: return 'ToolError'\n"
                f"names = {[*MISBEHAVIOUR, *GOOD]}\n"
                "dict(zip(names, await asyncio.gather(*[ask(n) for n in names])))")
        for engine in ENGINES:
            outcome = self.outcome_of(code, "--engine", engine, "--policy", "strict", *config)
            self.assertEqual(outcome["status"], "completed", outcome)
            self.assertEqual(outcome["result"], {**dict.fromkeys(MISBEHAVIOUR, "ToolError"),
                                                 "babbles": "done", "leaves_a_child": "done",
                                                 "does_not_read": "done", "says_nothing": None, "echo": {}})
            self.assertEqual([c["outcome"] for c in outcome["calls"]],
                             ["raised"] * len(MISBEHAVIOUR) + ["returned"] * len(GOOD))

    def test_an_interrupted_run_takes_its_tools_along(self):
        body = "open('started', 'w').close()\nif os.fork() == 0: os.setsid()\nwhile True: signal.pause()"
        config = self.config(self.tool("hangs", body))
        self.kept.add("started")
        for engine in ENGINES:
            process = self.start("run", "--json", "--engine", engine, *config, stdin=subprocess.PIPE,
                                 preexec_fn=harness.without_signals)
            process.stdin.write(b"hangs()")
            process.stdin.close()
            process.stdin = None
            self.wait_until((self.work / "started").exists, "the tool starts")
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=harness.PATIENCE)
            self.assertEqual(json.loads(out)["status"], "cancelled", out)
            self.expect_no_child()
            (self.work / "started").unlink()

    def test_null_is_not_omitted_and_any_argument_name_works(self):
        schema = ('{ type = "object", properties = { name = { type = ["string", "null"] }, code = { type = "integer" }, '
                  'self = { type = "integer" }, tool_name = { type = "integer" } } }')
        config = self.config(self.tool("echo", GOOD["echo"], schema))
        code = ("[echo(), echo(name=None), echo(name='x', code=1), call_tool('echo', {'name': None, 'self': 2}),\n"
                " call_tool('echo', name='y', tool_name=3)]")
        for engine in ENGINES:
            outcome = self.outcome_of(code, "--engine", engine, "--policy", "strict", *config)
            self.assertEqual(outcome["result"], [{}, {"name": None}, {"name": "x", "code": 1}, {"name": None, "self": 2},
                                                 {"name": "y", "tool_name": 3}], outcome)

    def test_unknown_arguments_are_refused_before_anything_runs(self):
        schema = '{ type = "object", properties = { a = { type = "integer" } }, required = ["a"] }'
        config = self.config(self.tool("echo", GOOD["echo"], schema))
        for engine in ENGINES:
            for call in ("echo(b=1)", "echo()", "echo('x')", "echo(1, 2)", "echo(a='x')"):
                outcome = self.outcome_of("print('ran')\n" + call, "--engine", engine, "--policy", "strict", *config)
                self.assertEqual((outcome["status"], outcome["stdout"], outcome["calls"]), ("rejected", "", []), call)
                self.assertEqual(outcome["findings"][0]["line"], 2)
                self.assertIn("a: int", json.dumps(outcome["findings"]), call)

    def test_a_failing_call_raises_only_where_it_is_awaited(self):
        config = self.config(self.tool("echo", GOOD["echo"]), self.tool("fails", MISBEHAVIOUR["fails"]))
        code = ("import asyncio\ntasks = [asyncio.create_task(call_tool('echo', i=1)), asyncio.create_task(call_tool('fails')),\n"
                "         asyncio.create_task(call_tool('echo', i=2))]\nfirst = await tasks[0]\nlast = await tasks[2]\n"
                "try: await tasks[1]\nexcept ToolError: middle = 'raised'\n[first, middle, last]")
        for engine in ENGINES:
            outcome = self.outcome_of(code, "--engine", engine, "--policy", "strict", *config)
            self.assertEqual(outcome["result"], [{"i": 1}, "raised", {"i": 2}], outcome)

    def test_no_spelling_of_an_address_reaches_this_machine(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(0)
            port = server.getsockname()[1]
            config = self.config(FETCH.format(port=port))
            urls = [url.replace("{port}", str(port)) for url in ADDRESSES]
            code = ("import asyncio\nasync def ask(url):\n    try: return await fetch(url=url)\n"
                    f"    except ToolError: return 'ToolError'\nawait asyncio.gather(*[ask(u) for u in {urls!r}])")
            for engine in ENGINES:
                outcome = self.outcome_of(code, "--engine", engine, "--policy", "strict", "--limit", "code_bytes=300000",
                                          *config)
                self.assertEqual(outcome["result"], ["ToolError"] * len(urls), outcome)
            self.assertRaises(BlockingIOError, server.accept)

    def test_addresses_that_the_operator_allows_are_fetched_and_no_others(self):
        class Pages(http.server.BaseHTTPRequestHandler):
            asked = []

            def do_GET(self):
                self.asked.append(self.path)
                self.send_response(302 if self.path == "/open/away" else 200)
                self.send_header("Location", "/secret")
                self.end_headers()
                self.wfile.write(b"page")

            def log_message(self, *_): pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}"
            config = self.config(FETCH_HERE.format(port=server.server_port))
            code = ("def ask(path, **more):\n"
                    f"    try: return fetch(url='{address}' + path, **more)['body']\n"
                    "    except ToolError: return 'ToolError'\n"
                    "[ask('/open/x'), ask('/secret'), ask('/open/away'), ask('/openx'), ask('/open/x', method='POST'),\n"
                    " ask('/open/../secret'), ask('/open/%2e%2e/secret')]")
            for engine in ENGINES:
                outcome = self.outcome_of(code, "--engine", engine, "--policy", "strict", *config)
                self.assertEqual(outcome["result"], ["page"] + ["ToolError"] * 6, outcome)
            self.assertEqual(Pages.asked, ["/open/x", "/open/away"] * 2)
            server.shutdown()

    def test_source_that_cannot_be_judged_is_rejected_with_a_finding(self):
        sources = [b"(" * 100_000, b"x = " + b"[" * 5_000 + b"]" * 5_000, b"-" * 60_000 + b"1", b"x = 1\0", b"\0",
                   b"x = '\xed\xa0\x80'", b"\xff\xfee\0v\0a\0l\0", b"# coding: utf-7\n+AGUAdgBhAGw-(1)\xff", b"\xc0\x80",
                   b"def f(:", b"import"]
        for engine in ENGINES:
            for source in sources:
                outcome = self.outcome_of(source, "--engine", engine, "--policy", "strict",
                                          "--limit", "code_bytes=200000")
                self.assertEqual((outcome["status"], outcome["reason"]), ("rejected", "policy"), source[:20])
                finding = outcome["findings"][0]
                self.assertTrue(finding["rule"] and finding["message"] and finding["hint"], finding)
                self.assertGreaterEqual((finding["line"], finding["column"]), (1, 1), finding)

    def test_code_may_be_as_long_as_its_cap_and_no_longer(self):
        for engine in ENGINES:
            for size, status in ((1000, "completed"), (1001, "rejected")):
                for filler in (b"x", "é".encode()):  # Bytes are counted, not characters.
                    code = b"1 #" + filler * 2000
                    code = code[:size].decode(errors="ignore").encode()
                    code += b" " * (size - len(code))
                    outcome = self.outcome_of(code, "--engine", engine, "--policy", "strict",
                                              "--limit", "code_bytes=1000")
                    self.assertEqual(outcome["status"], status, (size, outcome))

    def test_check_executes_nothing_and_says_what_run_would(self):
        code = "open('/output/x', 'w').write('1')\nprint('ran')\nimport sys\nx = eval\nimport os as o\no.system('id')\n"
        for engine in ENGINES:
            checked = json.loads(self.caisson("check", "--json", "--engine", engine, code=code).out)
            outcome = self.outcome_of(code, "--engine", engine, "--policy", "strict")
            self.assertEqual(checked["findings"], outcome["findings"])
            self.assertEqual([f["line"] for f in outcome["findings"]], [3, 4, 6])
            self.assertEqual((outcome["stdout"], outcome["files"]), ("", []))

    def files_of(self, engine, code, *limits):
        flags = [flag for limit in limits for flag in ("--limit", limit)]
        outcome = self.outcome_of(code, "--engine", engine, "--file-data", *flags)
        return outcome, [(f["path"], f["size"], "omitted" in f and f["omitted"] is not None, "data" in f)
                         for f in outcome["files"]]

    def test_captured_files_are_whole_up_to_each_cap_and_left_out_beyond(self):
        for engine in ENGINES:
            _, files = self.files_of(engine, "for n in (99, 100, 101): open(f'/output/{n:03}', 'w').write('x' * n)",
                                     "file_bytes=100")
            self.assertEqual(files, [("/output/099", 99, False, True), ("/output/100", 100, False, True),
                                     ("/output/101", 101, True, False)])
            write = "for n in range(3): open(f'/output/{n}', 'w').write('x' * 100)"
            outcome, files = self.files_of(engine, write, "total_file_bytes=300")
            self.assertEqual((outcome["status"], [f[3] for f in files]), ("completed", [True] * 3), outcome)
            outcome, files = self.files_of(engine, write, "files=3")
            self.assertEqual((outcome["status"], [f[3] for f in files]), ("completed", [True] * 3), outcome)

    def test_files_beyond_the_total_or_the_count_are_told(self):
        write = "for n in range(3): open(f'/output/{n}', 'w').write('x' * 100)"
        for engine in ENGINES:
            for limit in ("total_file_bytes=299", "files=2"):
                outcome, files = self.files_of(engine, write, limit)
                told = outcome["status"] != "completed" or any(f[2] for f in files)
                self.assertTrue(told, (limit, outcome))
                self.assertLessEqual(sum(f[3] for f in files), 2, (limit, files))

    def test_files_are_captured_when_the_code_fails(self):
        code = "open('/output/a', 'w').write('kept')\nprint('said')\n1/0"
        for engine in ENGINES:
            outcome, files = self.files_of(engine, code)
            self.assertEqual((outcome["status"], outcome["stdout"]), ("failed", "said\n"))
            self.assertEqual(files, [("/output/a", 4, False, True)])

    def test_mounts_that_must_not_be_are_refused_with_the_reason(self):
        (self.work / "dir").mkdir()
        (self.work / "dir/in").mkdir()
        (self.work / "link").symlink_to("dir")
        self.put("file", "x")
        self.kept |= {"dir", "dir/in", "link"}
        for engine in ENGINES:
            for mounts, reason in [(["link:/data"], "is a link"), (["none:/data"], "no such directory"),
                                   (["file:/data"], "not a directory"), (["/:/data"], "root of the file system"),
                                   (["/proc:/data"], "must not be shown"), (["dir:/data", "dir/in:/more"], "overlaps"),
                                   (["dir:/data", "dir:/data/x"], "overlaps"), (["dir:/data:rx"], "must be ro, rw or overlay"),
                                   (["dir:data:ro"], "not absolute"), (["dir:/a/../b"], "not a plain one")]:
                flags = [flag for mount in mounts for flag in ("--mount", mount)]
                done = self.run_code("print('ran')", "--engine", engine, *flags)
                self.assertEqual((done.status, done.out), (2, b""), (mounts, done))
                self.assertIn(reason.encode(), done.err)

    def test_calls_are_shown_with_the_names_of_their_arguments(self):
        tools = self.config(self.tool("add", "print(json.dumps(given))", '{ type = "object", properties = '
                                      '{ a = { type = "integer" }, b = { type = "integer" } } }'))
        for engine in ENGINES:
            outcome = self.outcome_of("add(1, b=2)\ntry: add(*[1, 2, 3])\nexcept ToolError: pass", "--engine", engine, *tools)
            self.assertEqual([call["arguments"] for call in outcome["calls"]], [{"a": 1, "b": 2}, {"*args": [1, 2, 3]}])

    def test_arguments_that_are_too_large_are_told_so(self):
        tools = self.config(self.tool("add", "pass"))
        for engine in ENGINES:
            outcome = self.outcome_of("add(x='x' * 9_000_000)", "--engine", engine, *tools)
            self.assertRegex(outcome["error"]["message"], "larger than a call may have$", outcome)

    def test_a_call_that_was_begun_and_not_answered_is_uncertain(self):
        tools = self.config(self.tool("slow", "signal.pause()"))
        for engine in ENGINES:
            for code in ("slow()", "import asyncio\ntry: await asyncio.wait_for(slow(), .2)\nexcept TimeoutError: pass"):
                outcome = self.outcome_of(code, "--engine", engine, "--limit", "wall_seconds=1", *tools)
                self.assertEqual([call["outcome"] for call in outcome["calls"]], ["uncertain"], outcome)

    def test_xml_bombs_end_early_and_external_entities_are_not_read(self):
        code = """
import xml.etree.ElementTree as ET, xml.sax, xml.dom.minidom
bomb = '<!DOCTYPE x [<!ENTITY a0 "' + 'x' * 100 + '">' + ''.join(
    f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 9)) + ']><x>&a8;</x>'
outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///tmp/secret">]><x>&a;</x>'
open('/tmp/secret', 'w').write('found')
class Keep(xml.sax.ContentHandler):
    def __init__(self): self.parts = []
    def characters(self, more): self.parts.append(more)
def by_sax(source):
    handler = Keep()
    xml.sax.parseString(source.encode(), handler)
    return ''.join(handler.parts)
def ends(parse, source):
    try: return 'found' if 'found' in str(parse(source)) else 'nothing'
    except Exception: return 'error'
ways = (lambda s: ET.fromstring(s).text, by_sax, lambda s: xml.dom.minidom.parseString(s).toxml())
[[ends(way, source) for way in ways] for source in (bomb, outside)]
"""
        for engine in ENGINES:
            outcome = self.outcome_of(code, "--engine", engine, "--policy", "strict",
                                      "--limit", "wall_seconds=60", "--limit", "cpu_seconds=60")
            self.assertEqual(outcome["status"], "completed", outcome)
            self.assertEqual(outcome["result"][0], ["error"] * 3, outcome)
            self.assertNotIn("found", outcome["result"][1])

    def test_entities_that_a_document_declares_are_not_expanded(self):
        code = (harness.pathlib.Path(__file__).parent / "programs/xml_entities.py").read_text()
        for engine in ENGINES:
            outcome = self.outcome_of(code, "--engine", engine)
            self.assertEqual(outcome["status"], "completed", outcome)
            for way, (plain, *declared) in outcome["result"].items():
                self.assertEqual(plain, "<&A", (engine, way))
                self.assertNotIn("boom", "".join(declared), (engine, way))

    def test_no_stray_null_after_a_final_print(self):
        for engine in ENGINES:
            outcome = self.outcome_of("print('x')", "--engine", engine)
            self.assertEqual((outcome["stdout"], outcome["has_result"], outcome["result"]), ("x\n", False, None))


if __name__ == "__main__":
    harness.run_suite(__main__)
