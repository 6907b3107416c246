"""Runs one of CPython's own test modules inside a cell and returns the results of its tests.

The runner puts two lines before this file: MODULE, a name like "test_json", and LEFT_OUT, the tests
that cannot pass here (patterns over their full names). The test package lies below /input."""

import fnmatch
import importlib
import os
import sys
import types
import unittest

TRACEBACK_BYTES = 2000
REASON_BYTES = 200


def each_test(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from each_test(item)
        else:
            yield item


class Tally(unittest.TestResult):
    """Counts results and keeps the explanation of failures; prints the current test on stderr, in
    case the cell crashes."""

    def __init__(self):
        super().__init__()
        self.passed = 0
        self.bad = []
        self.skips = []

    def startTest(self, test):
        super().startTest(test)
        os.write(2, f"{test.id()}\n".encode(errors="replace"))

    def addSuccess(self, test):
        self.passed += 1

    def addExpectedFailure(self, test, error):
        self.passed += 1

    def addSkip(self, test, reason):
        self.skips.append([test.id(), str(reason)[:REASON_BYTES]])

    def addUnexpectedSuccess(self, test):
        self.bad.append([test.id(), "passed, and was expected to fail"])

    def addFailure(self, test, error):
        self.bad.append([test.id(), self._exc_info_to_string(error, test)[-TRACEBACK_BYTES:]])

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.bad.append([subtest.id(), self._exc_info_to_string(error, test)[-TRACEBACK_BYTES:]])


class Runner:
    def __init__(self, left_out):
        self.left_out = left_out
        self.out = 0
        self.tally = Tally()

    def run(self, suite):
        wanted = unittest.TestSuite()
        for test in each_test(suite):
            # "test.test_json.test_dump.TestDump.test_x" is matched by its end: TestDump.test_x.
            short = ".".join(test.id().split(".")[-2:])
            if any(fnmatch.fnmatchcase(short, pattern) for pattern in self.left_out):
                self.out += 1
            else:
                wanted.addTest(test)
        wanted.run(self.tally)


def run(module, left_out):
    os.chdir("/tmp")
    sys.path.insert(0, "/input")
    from test import support

    support.use_resources = []  # Nothing that is slow, large or needs a network.
    runner = Runner(left_out)
    try:
        loaded = importlib.import_module(f"test.{module}")
        # As CPython's own runner does: a module that sets its tests up in test_main is called
        # through it.
        if hasattr(loaded, "test_main"):
            support._run_suite = runner.run
            loaded.test_main()
        else:
            runner.run(unittest.defaultTestLoader.loadTestsFromModule(loaded))
    except unittest.SkipTest as skip:
        return {"skipped_whole": str(skip)}
    tally = runner.tally
    return {"passed": tally.passed, "bad": tally.bad, "skipped": tally.skips, "left_out": runner.out}


# Constants of the C compiler that some tests take from a module we do not build.
class Numbers(types.ModuleType):
    INT_MAX = 2**31 - 1
    ULLONG_MAX = 2**64 - 1


if MODULE == "test_sqlite3":
    sys.modules["_testcapi"] = Numbers("_testcapi")

run(MODULE, LEFT_OUT)
