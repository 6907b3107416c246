#!/usr/bin/env python3
"""Tests that tools/run-tests prints one line per suite, failures in full, and ctest's summary and status."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN_TESTS = pathlib.Path(__file__).with_name("run-tests")
PRESETS = {
    "version": 6,
    "configurePresets": [{"name": "fake", "generator": "Ninja", "binaryDir": "${sourceDir}/build"}],
    "testPresets": [{"name": "fake", "configurePreset": "fake", "output": {"outputOnFailure": True}}],
}


def program_test(name, shell):
    """Returns a test as gtest_discover_tests declares it: one of several tests of program /bin/sh."""
    return f'add_test([=[{name}]=] /bin/sh -c [=[{shell}]=] --gtest_also_run_disabled_tests)\n'


class RunTests(unittest.TestCase):
    def run_tests(self, tests, *arguments, again=None):
        """Runs the tool on `tests`. `again`: the tests of the folder `again`, which can have the same names."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "CMakePresets.json").write_text(json.dumps(PRESETS))
            (root / "build").mkdir()
            (root / "build" / "CTestTestfile.cmake").write_text(tests)
            if again is not None:
                (root / "build" / "again").mkdir()
                (root / "build" / "again" / "CTestTestfile.cmake").write_text(again)
            return subprocess.run([sys.executable, RUN_TESTS, "fake", *arguments], cwd=root, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_a_program_has_one_line_without_parameter_bytes(self):
        many = "".join(program_test(f"A.B/{i}  # GetParam() = 4-byte object <0{i}-00 00-00>", "exit 0") for i in range(5))
        ran = self.run_tests(many + "add_test(other /bin/true)\n")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertRegex(ran.stdout, r"(?m)^passed +sh +[\d.]+ s +5 passed$")
        self.assertRegex(ran.stdout, r"(?m)^passed +other +[\d.]+ s +1 passed$")
        self.assertIn("100% tests passed, 0 tests failed out of 6", ran.stdout)
        self.assertNotIn("GetParam", ran.stdout)
        self.assertLess(len(ran.stdout.splitlines()), 10)

    def test_a_failure_is_shown_in_full_before_the_line_of_its_suite(self):
        ran = self.run_tests(program_test("A.Good", "echo quiet") +
                             program_test("A.Bad", "i=0; while [ $i -lt 9000 ]; do i=$((i+1)); echo line-$i-"
                                          "and-text-so-that-it-is-more-than-ctest-keeps; done; exit 1"))
        self.assertNotEqual(ran.returncode, 0)
        lines = ran.stdout.splitlines()
        shown = [line for line in lines if line.startswith("line-")]
        self.assertEqual(len(shown), 9000)
        self.assertNotIn("quiet", lines)
        [suite] = [i for i, line in enumerate(lines) if line.startswith("FAILED  sh ")]
        self.assertIn("1 passed, 1 failed", lines[suite])
        self.assertGreater(suite, lines.index(shown[-1]))
        self.assertIn("50% tests passed, 1 tests failed out of 2", ran.stdout)

    def test_tests_of_one_name_are_counted_each(self):
        with_same_name = 'add_test(one /bin/true)\nsubdirs("again")\n'
        ran = self.run_tests(with_same_name, again="add_test(one /bin/true)\n")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertRegex(ran.stdout, r"(?m)^passed +one +[\d.]+ s +2 passed$")
        self.assertNotIn("not run", ran.stdout)

    def test_a_summary_that_a_failed_test_prints_is_not_the_end(self):
        ran = self.run_tests(program_test("A.Bad", "echo 100% tests passed; exit 1") + program_test("A.Good", "exit 0"))
        self.assertIn("FAILED  sh ", ran.stdout)
        self.assertIn("1 passed, 1 failed", ran.stdout)
        self.assertIn("50% tests passed, 1 tests failed out of 2", ran.stdout)

    def test_skipped_tests_are_counted_by_reason(self):
        skips = 'set_tests_properties(one two PROPERTIES SKIP_RETURN_CODE 77)\n'
        ran = self.run_tests('add_test(one /bin/sh -c "echo no root; exit 77")\n'
                             'add_test(two /bin/sh -c "echo no root; exit 77")\nadd_test(three /bin/true)\n' + skips)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertRegex(ran.stdout, r"2 skipped:\n +2  no root\n")
        self.assertNotIn("did not run", ran.stdout)

    def test_no_skips_makes_a_skipped_test_a_failure(self):
        skipping = ('add_test(one /bin/sh -c "echo no runc; exit 77")\n'
                    'set_tests_properties(one PROPERTIES SKIP_RETURN_CODE 77)\n')
        ran = self.run_tests(skipping, "--no-skips")
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertRegex(ran.stdout, r"1 skipped:\n +1  no runc\n")
        self.assertIn("FAILED: none of these tests may be skipped", ran.stdout)
        self.assertEqual(self.run_tests("add_test(one /bin/true)\n", "--no-skips").returncode, 0)

    def test_skipped_parts_of_a_test_that_ran_are_counted_too(self):
        ran = self.run_tests(
            """add_test(suite /bin/sh -c [=[echo "test_a (m.A) ... skipped 'no disk'"]=])\n"""
            "add_test(program /bin/sh -c [=[echo a.cc:5: Skipped; echo no root; echo a.cc:9: Skipped; echo no disk]=])\n")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertRegex(ran.stdout, r"3 skipped:\n +2  no disk\n +1  no root\n")

    def test_a_failed_test_gets_a_second_try_alone(self):
        once = "[ -e tried ] && exit 0; touch tried; echo first-try; exit 1"
        tests = program_test("A.Once", once) + program_test("A.Good", "exit 0")
        ran = self.run_tests(tests, "--retry-alone")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertIn("first-try", ran.stdout)
        self.assertIn("1 failed beside other tests and passed alone: A.Once", ran.stdout)
        self.assertNotEqual(self.run_tests(tests).returncode, 0)

    def test_a_test_that_fails_twice_fails(self):
        ran = self.run_tests(program_test("A.Bad", "exit 1"), "--retry-alone")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("0 failed beside other tests and passed alone: none", ran.stdout)

    def test_many_failures_are_not_tried_again(self):
        ran = self.run_tests("".join(program_test(f"A.Bad{i}", "exit 1") for i in range(6)), "--retry-alone")
        self.assertNotEqual(ran.returncode, 0)
        self.assertNotIn("once more", ran.stdout)

    def test_arguments_select_tests(self):
        ran = self.run_tests("add_test(one /bin/false)\nadd_test(two /bin/true)\n", "-R", "two")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertNotIn("one", ran.stdout)

    def test_a_test_that_cannot_start_fails(self):
        ran = self.run_tests("add_test(gone /no/such/program)\n")
        self.assertNotEqual(ran.returncode, 0)
        self.assertRegex(ran.stdout, r"(?m)^FAILED +gone ")


if __name__ == "__main__":
    unittest.main()
