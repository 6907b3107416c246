"""Checks that docs/agent-cases.md names existing tests only: cases.py SOURCE_DIRECTORY."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tests/codeact"))

import table  # noqa: E402: where it is has just been said.

FILE = ROOT / "docs/agent-cases.md"
FLOW = re.compile(r"^  async (\w+)\(", re.M)
AGUI_FLOWS = ROOT / "tests/agui/agui_client.mjs"
# Other texts in backquotes are files, suites and parts of the protocol.
NAME = re.compile(r"(?:client|agui)\.\w+|[A-Z]\w*\.[A-Z]\w+")


def main():
    names = table.existing(ROOT)
    flows = (ROOT / "tests/responses/openai_client.mjs").read_text()
    names |= {"client." + name for name in FLOW.findall(flows)}
    names |= {"agui." + name for name in re.findall(r"\w+", AGUI_FLOWS.read_text())}
    names |= {name.replace("AguiHttpTest.", "A.") for name in names if name.startswith("AguiHttpTest.")}
    wrong, count = [], 0
    for says, tests in table.rows(FILE):
        count += 1
        if "not apply: " in tests:  # The last column is empty.
            continue
        named = [name for name in re.findall(r"`([^`]+)`", tests) if NAME.fullmatch(name)]
        wrong += [f"there is no test {name}: {says}" for name in named if name not in names]
        if "`" not in tests and tests != "*open*" and "not apply: " not in says:
            wrong.append(f"no test is named, and no reason given: {says}")
    print(f"{count} rows", *wrong, sep="\n")
    return 1 if wrong or count < 50 else 0


sys.exit(main())
