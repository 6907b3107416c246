"""Limits: the values of --limit, and that each reached limit is reported with the way to raise it.
"""

import __main__
import time

import harness


class Limits(harness.CliTest):
    def expect_limit(self, code, reason, option, *arguments):
        done = self.run_code(code, *arguments)
        self.assertEqual(done.status, 1, done)
        self.assertIn(f"limit reached: {reason}".encode(), done.err)
        self.assertIn(f"--limit {option}=".encode(), done.err)
        outcome = self.outcome_of(code, *arguments)
        self.assertEqual((outcome["status"], outcome["reason"]), ("limit", reason))
        return outcome

    def test_bad_limits(self):
        for bad, words in [("wall_seconds=0", ["wall_seconds"]), ("wall_seconds=-1", ["wall_seconds"]),
                           ("wall_seconds=nan", ["wall_seconds"]), ("wall_seconds=inf", ["wall_seconds"]),
                           ("wall_seconds=1e400", ["the maximum is 300"]), ("wall_seconds=1e9", ["the maximum is 300"]),
                           ("wall_seconds=1e", ["not a positive number"]), ("wall_seconds=abc", ["abc"]),
                           ("wall_seconds=", ["wall_seconds"]), ("wall_seconds=301", ["the maximum is 300"]),
                           ("memory_bytes=1.5", ["memory_bytes"]), ("memory_bytes=0", ["memory_bytes"]),
                           ("memory_bytes=99999999999999999999999", ["the maximum is"]), ("processes=17", ["16"]),
                           ("files=-0", ["files"]), ("colour=1", ["colour", "wall_seconds", "tool_calls"]),
                           ("wall_seconds", ["NAME=VALUE"]), ("=1", ["NAME=VALUE"])]:
            done = self.run_code("print('ran')", "--limit", bad)
            self.assertEqual((done.status, done.out), (2, b""), f"{bad}: {done}")
            for word in words:
                self.assertIn(word.encode(), done.err, bad)

    def test_a_limit_takes_one_value_and_leaves_the_file_alone(self):
        self.put("task.py", "6*7")
        done = self.caisson("run", "--limit", "wall_seconds=5", "--limit", "files=3", "task.py")
        self.assertEqual((done.status, done.out), (0, b"42\n"), done)

    def test_wall_time_and_what_was_printed_before(self):
        code = "print('before', flush=True)\nwhile True: pass"
        begin = time.monotonic()
        outcome = self.expect_limit(code, "wall_time", "wall_seconds", "--limit", "wall_seconds=0.3")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(outcome["stdout"], "before\n")
        self.assertGreaterEqual(outcome["usage"]["wall_us"], 300_000)

    def test_cpu_time(self):
        self.expect_limit("while True: pass", "cpu_time", "cpu_seconds", "--limit", "cpu_seconds=0.2")

    def test_memory(self):
        self.expect_limit("x = bytearray(10**9)", "memory", "memory_bytes")
        self.assertEqual(self.run_code("len(bytearray(300 << 20))", "--limit", "memory_bytes=1000000000").out,
                         b"314572800\n")

    def test_result(self):
        self.expect_limit("'x' * 200_000", "result", "result_bytes")

    def test_output_beyond_its_cap_is_dropped_and_told(self):
        done = self.run_code("print('x' * 100_000)\nprint('more')\n42")
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual(done.out, b"x" * 65536 + b"\n42\n")
        self.assertIn(b"stdout was cut off", done.err)
        self.assertIn(b"--limit stdout_bytes=", done.err)
        outcome = self.outcome_of("import sys\nsys.stderr.write('x' * 100_000)\n42")
        self.assertEqual((outcome["truncated"], len(outcome["stderr"])), ({"stdout": False, "stderr": True}, 65536))
        self.assertEqual(self.run_code("print('x' * 100_000)", "--limit", "stdout_bytes=200000").out,
                         b"x" * 100_000 + b"\n")

    def test_deep_recursion_ends_cleanly(self):
        self.assertIn(b"RecursionError", self.run_code("def f(): f()\nf()").err)


if __name__ == "__main__":
    harness.run_suite(__main__)
