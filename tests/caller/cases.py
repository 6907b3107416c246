"""Checks that docs/session-cases.md has each case once, with existing tests: cases.py
SOURCE_DIRECTORY."""

import pathlib
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tests/codeact"))

import table  # noqa: E402: where it is has just been said.

FILE = ROOT / "docs/session-cases.md"
CASES = [f"AC-{number:02}" for number in range(1, 75)]


def main():
    wrong = list(table.problems(ROOT, FILE))
    if [says.split(" | ")[0] for says, _ in table.rows(FILE)] != CASES:
        wrong.append("the cases are not AC-01 to AC-74, in this order")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


sys.exit(main())
