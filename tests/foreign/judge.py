#!/usr/bin/env python3
"""Tests what is particular to judging the trees of other interpreters.

    judge.py JUDGE LIBRARY PROGRAM [PYTHONS_DIRECTORY]

The arguments are those of policy.py."""

import pathlib
import sys
import unittest

import host

_NEWER = {
    "type X = int": (12, "TypeAlias"),
    "def f[T](x: T) -> T: return x": (12, "type_params of FunctionDef"),
    "class C[T]: pass": (12, "type_params of ClassDef"),
    "name = 1\nt'{name}'": (14, "TemplateStr"),
}


class JudgeTest(unittest.TestCase):
    judge = library = program = pythons = None

    def python(self, judge=None):
        return host.Interpreter(self.program, judge or [self.judge, self.library])

    def run_one(self, python, code, **more):
        (report,) = python.runs([{"code": code.encode(), "policy": 1, **more}])
        return report

    def test_without_a_judge_no_code_runs_that_needs_one(self):
        python = self.python(["/bin/false"])
        report = self.run_one(python, "6 * 7")
        self.assertEqual(report["end"], "rejected")
        self.assertIn("could not be checked", report["findings"][0]["message"])
        self.assertEqual(self.run_one(python, "6 * 7", policy=0)["result"], 42)

    def test_sees_what_earlier_code_of_a_session_left(self):
        before = "import os as left, functools\nfrom operator import attrgetter as reads\nclass Own:\n    __match_args__ = ('x',)"
        after = {
            "left": "the module os is used as a value",
            "left.system('x')": "os.system is not allowed",
            "print(reads)": "operator.attrgetter is used as a value",
            "match 1:\n    case Own(a): pass": None,
            "match 1:\n    case Other(a): pass": "it cannot be told which attributes this pattern reads",
        }
        for code, expected in after.items():
            first = {"code": before.encode(), "policy": 0, "keep": True}
            _, report = self.python().runs([first, {"code": code.encode(), "policy": 1, "check": True}])
            found = [finding["message"] for finding in report["findings"]]
            self.assertEqual(found, [expected] if expected else [], code)

    def test_names_places_as_the_author_counts_them(self):
        report = self.run_one(self.python(), "x = 'ä'; eval('1')", check=True)
        (finding,) = report["findings"]
        self.assertEqual((finding["line"], finding["column"], finding["rule"]), (1, 10, "builtin"))

    def test_deep_code_is_refused(self):
        for code in ("x" + ".a" * 20_000, "1" + "+1" * 20_000):
            report = self.run_one(self.python(), code)
            self.assertEqual(report["end"], "rejected", report)

    def test_syntax_that_the_policy_does_not_know_is_refused_by_it_alone(self):
        for path in sorted(pathlib.Path(self.pythons or "/nonexistent").glob("*/bin/python3.[0-9]*")):
            python = host.Interpreter(str(path), [self.judge, self.library])
            for code, (since, what) in _NEWER.items():
                if int(path.name.rpartition(".")[2]) < since:
                    continue
                report = self.run_one(python, code)
                found = [(one["rule"], one["message"]) for one in report["findings"]]
                self.assertIn(("node", f"the policy knows no {what}"), found, path.name)
                tools = {"policy": 0, "tools": ["compute"]}
                report = self.run_one(python, f"async def own(): await compute()\n{code}\n42", **tools)
                self.assertEqual(report.get("result"), 42, (path.name, code, report))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    JudgeTest.judge, JudgeTest.library, JudgeTest.program = arguments[:3]
    JudgeTest.pythons = arguments[3] if len(arguments) > 3 else None
    unittest.main(argv=sys.argv[:1])
