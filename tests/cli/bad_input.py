"""Input that cannot be run gives a clear message, the right exit status, and nothing on stdout."""

import __main__
import os

import harness


class BadInput(harness.CliTest):
    def expect_usage(self, done, *words):
        self.assertEqual((done.status, done.out), (2, b""), done)
        self.assertTrue(done.err.startswith(b"caisson: "), done)
        for word in words:
            self.assertIn(word.encode(), done.err, done)

    def expect_refused(self, code):
        """The guest refuses the code: exit status 1, nothing ran, and --json says rejected."""
        done = self.run_code(code)
        self.assertEqual((done.status, done.out), (1, b""), done)
        self.assertNotEqual(done.err, b"")
        outcome = self.outcome_of(code)
        self.assertEqual((outcome["status"], outcome["reason"]), ("rejected", "policy"), outcome)
        return outcome

    def test_no_such_file(self):
        self.expect_usage(self.caisson("run", "missing.py"), "missing.py", "No such file")

    def test_a_directory(self):
        (self.work / "folder").mkdir()
        self.kept.add("folder")
        self.expect_usage(self.caisson("run", "folder"), "folder", "directory")

    def test_an_unreadable_file(self):
        self.put("private.py", "1")
        (self.work / "private.py").chmod(0)
        user = harness.NOBODY if harness.is_root() else None
        self.expect_usage(self.caisson("run", "private.py", user=user), "private.py", "ermission denied")

    def test_closed_stdin(self):
        for command in ("run", "check"):
            self.expect_usage(self.caisson(command, stdin=None, preexec_fn=lambda: os.close(0)), "stdin is closed")

    def test_an_empty_program_completes(self):
        self.put("empty.py", "")
        done = self.caisson("run", "empty.py")
        self.assertEqual((done.status, done.out, done.err), (0, b"", b""), done)
        self.assertEqual(self.outcome_of("")["status"], "completed")
        self.assertEqual(self.run_code("# nothing\n\n").status, 0)

    def test_a_nul_byte(self):
        self.expect_refused(b"x = 1\x00\nprint('ran')\n")

    def test_a_binary(self):
        self.expect_refused(b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)) * 16)

    def test_invalid_utf8(self):
        self.expect_refused(b"print('ran')\ns = '\xff\xfe'\n")
        self.expect_refused(b"s = '\xed\xa0\x80'\n")

    def test_crlf_and_cr(self):
        self.assertEqual(self.run_code(b"if True:\r\n    print('a')\r\n7\r\n").out, b"a\n7\n")

    def test_a_byte_order_mark(self):
        self.assertEqual(self.run_code(b"\xef\xbb\xbfprint('a')\n7\n").out, b"a\n7\n")

    def test_code_as_long_as_allowed_and_one_byte_longer(self):
        allowed = 64 * 1024
        code = b"6*7 #" + b"x" * (allowed - 5)
        self.assertEqual(self.run_code(code).out, b"42\n")
        done = self.run_code(code + b"x")
        self.assertEqual((done.status, done.out), (1, b""), done)
        self.assertIn(b"65536", done.err)
        self.assertIn(b"code_bytes", done.err)
        outcome = self.outcome_of(code + b"x")
        self.assertEqual((outcome["status"], outcome["findings"][0]["rule"]), ("rejected", "code_bytes"))
        self.assertEqual(self.run_code(code + b"x", "--limit", "code_bytes=65537").out, b"42\n")

    def test_an_endless_source_ends(self):
        done = self.caisson("run", "/dev/zero")
        self.assertEqual((done.status, done.out), (1, b""), done)
        self.assertIn(b"code_bytes", done.err)

    def test_unknown_flags_commands_and_engines(self):
        self.expect_usage(self.caisson("run", "--nonsense"), "--nonsense", "--help")
        self.expect_usage(self.caisson("frobnicate"), "frobnicate")
        self.expect_usage(self.caisson(), "--help")
        self.expect_usage(self.run_code("1", "--engine", "jvm"), "jvm", "wasm")
        self.expect_usage(self.run_code("1", "--tier", "strong"), "strong", "namespace")
        self.expect_usage(self.caisson("run", "a.py", "b.py"), "b.py")

    def test_flags_with_values_that_make_no_sense(self):
        for flag, value, word in [("--mount", "x", "HOST:GUEST"), ("--mount", "/nowhere:/input", "/nowhere"),
                                  ("--mount", ".:input:ro", "input"), ("--mount", ".:/input:wr", "wr"),
                                  ("--policy", "loose", "loose"), ("--config", "none.toml", "none.toml"),
                                  ("--approve", "maybe", "maybe"), ("--env", "NAME", "NAME=VALUE"),
                                  ("--env", "=1", "NAME=VALUE")]:
            self.expect_usage(self.run_code("print('ran')", flag, value), word)

    def test_commands_that_ask_nobody_do_not_take_approve(self):
        for command in ("check", "mcp"):
            self.expect_usage(self.caisson(command, "--approve", "all", code="1"), "--approve")

    def test_a_broken_installation(self):
        self.expect_usage(self.run_code("1", "--worker-dir", str(self.work)), "caisson-worker")


if __name__ == "__main__":
    harness.run_suite(__main__)
