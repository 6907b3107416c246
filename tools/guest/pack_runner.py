#!/usr/bin/env python3
"""Writes the guest logic for foreign interpreters as C: its modules as text, for they compile it themselves.

    pack_runner.py OUT.c RUNNER_DIRECTORY CAISSON_DIRECTORY LISTS.c

The second becomes the package `caisson`, the first `caisson.runner`; its bootstrap.py stands apart. The lists of the
policy become `caisson.runner.lists`, under their names without `caisson_`.
"""

import ast
import marshal
import pathlib
import re
import sys

# Read by every Python 3.
_MARSHAL_VERSION = 2


def modules(directory, package):
    for path in sorted(pathlib.Path(directory).glob("*.py")):
        is_package = path.stem == "__init__"
        if path.stem == "bootstrap":
            continue
        yield package if is_package else f"{package}.{path.stem}", (is_package, path.read_text())


def strings(text):
    """The string literals of C in `text`; those with nothing in between are one."""
    for joined in re.findall(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*', text):
        yield "".join(ast.literal_eval(one) for one in re.findall(r'"(?:[^"\\]|\\.)*"', joined))


def lists(path):
    """policy/lists.c as Python: arrays of names as tuples, arrays of pairs as dicts."""
    text = pathlib.Path(path).read_text()
    for name, value in re.findall(r"^#define (\w+) (.*)$", text, re.MULTILINE):
        text = re.sub(rf"\b{name}\b", lambda _: value, text)
    made = []
    for kind, name, body in re.findall(r"const (char\*|\w+)[^;]*? caisson_(\w+)\[\] = \{(.*?)\};", text, re.S):
        found = list(strings(body))
        value = tuple(found) if kind == "char*" else dict(zip(found[::2], found[1::2]))
        made.append(f"{name} = {value!r}\n")
    return "".join(made)


def as_array(data):
    return ",".join(map(str, data))


def packed(runner, caisson, policy):
    sources = dict(modules(caisson, "caisson")) | dict(modules(runner, "caisson.runner"))
    sources["caisson.runner.lists"] = (False, lists(policy))
    return marshal.dumps(sources, _MARSHAL_VERSION)


def main(out, runner, caisson, policy):
    bootstrap = (pathlib.Path(runner) / "bootstrap.py").read_bytes() + b"\0"
    pathlib.Path(out).write_text(
        '#include "guest/runner/sources.h"\n\n'
        f"const char caisson_runner_bootstrap[] = {{{as_array(bootstrap)}}};\n"
        # A char may be signed.
        f"static const unsigned char packed[] = {{{as_array(packed(runner, caisson, policy))}}};\n"
        "const char* const caisson_runner_sources = (const char*)packed;\n"
        "const size_t caisson_runner_size = sizeof packed;\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
