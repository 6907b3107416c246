#!/usr/bin/env python3
"""The strict policy as foreign interpreters check it, on the programs that the C one is tried on (tests/policy).

    policy.py PROGRAM [PYTHONS_DIRECTORY]

What is honest passes, what is refused is refused. Other versions in PYTHONS_DIRECTORY may know less syntax and fewer modules,
so there only the second is asked for: whatever a version makes of the code, none of it may run.
"""

import pathlib
import sys

import host

_PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "policy"
_TOOLS = ["compute"]


def lines(folder):
    for path in sorted((_PROGRAMS / folder).glob("*.txt")):
        for line in path.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                yield line.replace("\\n", "\n")


def honest():
    return [path.read_text() for path in sorted((_PROGRAMS / "honest").glob("*.py"))]


def wrongly_judged(python, codes, is_wrong):
    requests = [
        {"code": code.encode(), "policy": 1, "check": True, "tools": _TOOLS} for code in codes
    ]
    for code, report in zip(codes, python.runs(requests)):
        if report["end"] != "checked" or is_wrong(report["findings"]):
            yield f"{code!r}\n    {report['end']} {report['findings']}"


def main(program, pythons=None):
    own = host.Interpreter(program)
    refused = list(lines("refused"))
    wrong = list(wrongly_judged(own, honest() + list(lines("allowed")), bool))
    wrong += wrongly_judged(own, refused, lambda found: not found or found[0]["rule"] == "syntax")
    for other in sorted(pathlib.Path(pythons).glob("*/bin/python3.[0-9]*")) if pythons else ():
        if other.name.count("-") == 0:
            wrong += wrongly_judged(host.Interpreter(str(other)), refused, lambda found: not found)
    print(f"{len(refused)} refused, {len(wrong)} judged wrongly", *wrong, sep="\n")
    return 1 if wrong or not refused else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
