"""Successful runs: output, values, errors in the code, and the outcome as JSON."""

import __main__
import os

import harness


class GoodRuns(harness.CliTest):
    def test_prints_then_the_value(self):
        done = self.run_code('print("hi"); 6*7')
        self.assertEqual((done.status, done.out, done.err), (0, b"hi\n42\n", b""), done)

    def test_from_a_file_a_dash_and_nothing(self):
        self.put("task.py", "1+1")
        self.assertEqual(self.caisson("run", "task.py").out, b"2\n")
        self.assertEqual(self.caisson("run", "-", code="1+2").out, b"3\n")
        self.assertEqual(self.caisson("run", code="1+3").out, b"4\n")

    def test_a_file_whose_name_looks_like_a_flag(self):
        self.put("--json", "5")
        self.assertEqual(self.caisson("run", "--", "--json").out, b"5\n")

    def test_values_are_json_in_human_output(self):
        for code, shown in [("'a\\n\"b'", b'"a\\n\\"b"\n'), ("[1, 2.5, None, True]", b"[1,2.5,null,true]\n"),
                            ("{'k': (1, 2)}", b'{"k":[1,2]}\n'), ("2**70", b"1180591620717411303424\n")]:
            done = self.run_code(code)
            self.assertEqual((done.status, done.out.replace(b", ", b",").replace(b": ", b":")), (0, shown), done)

    def test_a_value_that_json_cannot_hold_is_shown_as_python_does(self):
        self.assertEqual(self.run_code("{1, 2}").out, b"{1, 2}\n")
        self.assertEqual(self.run_code("b'x'").out, b"b'x'\n")

    def test_none_is_not_shown(self):
        self.assertEqual(self.run_code("None").out, b"")
        self.assertFalse(self.outcome_of("None")["has_result"])

    def test_the_value_has_a_line_of_its_own(self):
        self.assertEqual(self.run_code("print('a', end=''); 1").out, b"a\n1\n")
        self.assertEqual(self.run_code("print('a', end='')").out, b"a")

    def test_outcome_as_json(self):
        outcome = self.outcome_of("import sys\nprint('out')\nprint('err', file=sys.stderr)\n[42, None]")
        self.assertRegex(outcome["run_id"], r"^run_[0-9A-Za-z]{26}$")
        self.assertEqual((outcome["status"], outcome["reason"]), ("completed", "returned"))
        self.assertEqual((outcome["stdout"], outcome["stderr"]), ("out\n", "err\n"))
        self.assertEqual(outcome["truncated"], {"stdout": False, "stderr": False})
        self.assertEqual((outcome["has_result"], outcome["result"], outcome["result_repr"]), (True, [42, None], None))
        self.assertIsNone(outcome["error"])
        for name in ("findings", "files", "calls", "approvals"):
            self.assertEqual(outcome[name], [], name)
        self.assertEqual((outcome["boundary"]["engine"], outcome["boundary"]["tier"]), ("wasm", harness.tier.NAME))
        self.assertGreater(outcome["usage"]["wall_us"], 0)
        self.assertGreater(outcome["usage"]["peak_memory_bytes"], 0)

    def test_an_exception_is_told_with_its_line(self):
        done = self.run_code("x = 1\nprint('before')\nraise ValueError('no good')\n")
        self.assertEqual((done.status, done.out), (1, b"before\n"), done)
        self.assertIn(b"line 3", done.err)
        self.assertIn(b"ValueError: no good", done.err)
        error = self.outcome_of("x = 1\nraise ValueError('no good')")["error"]
        self.assertEqual((error["type"], error["message"], error["line"]), ("ValueError", "no good", 2))

    def test_a_syntax_error_is_refused_and_nothing_runs(self):
        done = self.run_code("print('ran')\nx = (1,\n")
        self.assertEqual((done.status, done.out), (1, b""), done)
        self.assertIn(b"line 2", done.err)
        outcome = self.outcome_of("print('ran')\nx = (1,\n")
        self.assertEqual((outcome["status"], outcome["stdout"]), ("rejected", ""))
        self.assertEqual(outcome["findings"][0]["line"], 2)

    def test_exit_of_the_code(self):
        self.assertEqual(self.run_code("import sys; print(1); sys.exit(0)").status, 0)
        done = self.run_code("import sys; print(1); sys.exit(3)")
        self.assertEqual((done.status, done.out), (1, b"1\n"), done)
        self.assertIn(b"SystemExit", done.err)

    def test_an_abort_is_a_crash_of_the_code_only(self):
        outcome = self.outcome_of("print('first', flush=True)\nimport os\nos.abort()")
        self.assertEqual((outcome["status"], outcome["reason"], outcome["stdout"]), ("failed", "crashed", "first\n"))

    def test_the_hosts_files_and_network_are_not_there(self):
        secret = self.put("secret.txt", "top secret")
        for code in (f"open({str(self.work / secret)!r}).read()", "open('/etc/shadow').read()",
                     "import socket; socket.create_connection(('127.0.0.1', 22), 1)"):
            done = self.run_code(code)
            self.assertEqual((done.status, done.out), (1, b""), done)
            self.assertNotIn(b"top secret", done.err)

    def test_no_tools_are_configured(self):
        done = self.run_code("try:\n  call_tool('send', {})\nexcept Exception as e:\n  print(e)")
        self.assertIn(b"no tools are configured", done.out + done.err, done)

    def test_weaker_tiers_work_when_asked_for_and_are_told(self):
        for tier in ("landlock", "none"):
            done = self.run_code("1+1", "--tier", tier)
            self.assertEqual((done.status, done.out), (0, b"2\n"), done)
            self.assertIn(f"tier {tier}".encode(), done.err)
            self.assertEqual(self.outcome_of("1", "--tier", tier)["boundary"]["tier"], tier)

    def test_runs_are_not_tied_to_one_core(self):
        process = self.start("run", self.put("endless.py", "print(1, flush=True)\nwhile True: pass"))
        self.assertEqual(process.stdout.readline(), b"1\n")
        worker, = harness.children_of(process.pid)
        self.assertEqual(os.sched_getaffinity(int(worker)), os.sched_getaffinity(0))
        process.kill()
        process.wait()

    def test_version_and_help(self):
        done = self.caisson("--version")
        self.assertEqual(done.status, 0)
        self.assertRegex(done.out, rb"^caisson \d+\.\d+\.\d+\n$")
        for arguments in (["--help"], ["run", "--help"], ["doctor", "--help"]):
            done = self.caisson(*arguments)
            self.assertEqual((done.status, done.err), (0, b""))
            self.assertIn(b"caisson run" if "doctor" not in arguments else b"boundary", done.out)


if __name__ == "__main__":
    harness.run_suite(__main__)
