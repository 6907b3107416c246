#!/usr/bin/env python3
"""Checks the strict policy of foreign interpreters on the programs of tests/policy.

    policy.py JUDGE LIBRARY PROGRAM [PYTHONS_DIRECTORY]

JUDGE is the program of judge_main.c, LIBRARY the standard library of the built-in Python.

Honest programs pass, refused ones are refused, hidden attributes are not shown at run time. Other
versions in PYTHONS_DIRECTORY may support less syntax and fewer modules, so only the second is
required there: however a version parses the code, none of it may run."""

import pathlib
import sys

import host

_PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "policy"
_TOOLS = ["compute"]
_PACKAGES = ["joblib", "numpy", "pandas", "six", "sympy", "yaml"]


def lines(folder):
    for path in sorted((_PROGRAMS / folder).glob("*.txt")):
        for line in path.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                yield line.replace("\\n", "\n")


def honest():
    return [path.read_text() for path in sorted((_PROGRAMS / "honest").glob("*.py"))]


def wrongly_judged(python, codes, is_wrong, **more):
    requests = [
        {"code": code.encode(), "policy": 1, "check": True, "tools": _TOOLS, **more} for code in codes
    ]
    for code, report in zip(codes, python.runs(requests)):
        if report["end"] != "checked" or is_wrong(report["findings"]):
            yield f"{code!r}\n    {report['end']} {report['findings']}"


def is_shown(report):
    return report.get("result") is True


def is_hidden(report):
    if report["end"] == "raised":
        return report["error"]["type"] == "AttributeError"
    return report["end"] == "rejected" or report["end"] == "returned" and not report.keys() & {"result", "repr"}


def wrongly_run(python, codes, is_right):
    for code in codes:
        (report,) = python.runs([{"code": code.encode(), "policy": 1}])
        if not is_right(report):
            yield f"{code!r}\n    {report}"


def passed(python, is_wrong=lambda found: not found):
    """Yields programs that must not pass but do."""
    yield from wrongly_judged(python, list(lines("refused")), is_wrong)
    yield from wrongly_judged(python, list(lines("refused_packages")), is_wrong, native_packages=_PACKAGES)
    yield from wrongly_run(python, lines("hidden"), is_hidden)


def main(judge, library, program, pythons=None):
    own = host.Interpreter(program, [judge, library])
    wrong = list(wrongly_judged(own, honest() + list(lines("allowed")), bool))
    wrong += wrongly_judged(own, list(lines("allowed_packages")), bool, native_packages=_PACKAGES)
    wrong += wrongly_run(own, lines("shown"), is_shown)
    wrong += passed(own, lambda found: not found or found[0]["rule"] == "syntax")
    for other in sorted(pathlib.Path(pythons).glob("*/bin/python3.[0-9]*")) if pythons else ():
        if other.name.count("-") == 0:
            wrong += (f"{other.name}: {one}" for one in passed(host.Interpreter(str(other), [judge, library])))
    count = sum(len(list(lines(folder))) for folder in ("refused", "refused_packages", "hidden"))
    print(f"{count} refused or hidden, {len(wrong)} judged wrongly", *wrong, sep="\n")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
