"""Checks that every test named in a Markdown table exists: table.py SOURCE_DIRECTORY FILE
LEAST_ROWS."""

import pathlib
import re
import sys

CC_TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),\s*(\w+)\)", re.M)
PYTHON_TEST = re.compile(r"^    def (test_\w+)\(", re.M)
NAME = re.compile(r"`(cli\.\w+\.test_\w+|escape\.\w+|[A-Z]\w+\.[A-Z]\w+)`")


def existing(root):
    names = set()
    for folder in ("src", "tests"):
        for file in (root / folder).rglob("*_test.cc"):
            names |= {f"{suite}.{name}" for suite, name in CC_TEST.findall(file.read_text())}
    for file in (root / "tests/cli").glob("*.py"):
        names |= {f"cli.{file.stem}.{name}" for name in PYTHON_TEST.findall(file.read_text())}
    return names | {f"escape.{file.stem}" for file in (root / "tests/escape/attacks").glob("*.py")}


def rows(file):
    """Yields the text of each row and its last column; skips table heads, which are followed by a
    rule."""
    lines = file.read_text().splitlines() + [""]
    for line, following in zip(lines, lines[1:]):
        if line.startswith("| ") and not following.startswith("|---"):
            yield line.strip("| ").rsplit(" | ", 1)


def problems(root, file):
    names = existing(root)
    for behaviour, tests in rows(file):
        named = NAME.findall(tests)
        if not named or len(named) != tests.count("`") / 2:
            yield f"no test is named, or not as one: {behaviour}"
        yield from (f"there is no test {name}: {behaviour}" for name in named if name not in names)


def main(root, file, least):
    wrong, count = list(problems(root, file)), len(list(rows(file)))
    print(f"{count} rows in {file.name}")
    print(*wrong, sep="\n")
    return 1 if wrong or count < least else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])))
