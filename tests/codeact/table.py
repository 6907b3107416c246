"""Every test that README.md names exists: table.py SOURCE_DIRECTORY."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
CC_TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),\s*(\w+)\)", re.M)
PYTHON_TEST = re.compile(r"^    def (test_\w+)\(", re.M)
NAME = re.compile(r"`(cli\.\w+\.test_\w+|escape\.\w+|[A-Z]\w+\.[A-Z]\w+)`")


def existing():
    names = set()
    for folder in ("src", "tests"):
        for file in (ROOT / folder).rglob("*_test.cc"):
            names |= {f"{suite}.{name}" for suite, name in CC_TEST.findall(file.read_text())}
    for file in (ROOT / "tests/cli").glob("*.py"):
        names |= {f"cli.{file.stem}.{name}" for name in PYTHON_TEST.findall(file.read_text())}
    return names | {f"escape.{file.stem}" for file in (ROOT / "tests/escape/attacks").glob("*.py")}


def main():
    names, rows, wrong = existing(), 0, []
    for line in (pathlib.Path(__file__).parent / "README.md").read_text().splitlines():
        if not line.startswith("| ") or line.startswith("| behaviour "):
            continue
        rows += 1
        behaviour, tests = line.strip("| ").rsplit(" | ", 1)
        named = NAME.findall(tests)
        if not named or len(named) != tests.count("`") / 2:
            wrong.append(f"no test is named, or not as one: {line}")
        wrong += [f"there is no test {name}: {behaviour}" for name in named if name not in names]
    print(f"{rows} behaviours, {len(names)} tests")
    print(*wrong, sep="\n")
    return 1 if wrong or rows < 80 else 0


sys.exit(main())
