#!/usr/bin/env python3
"""Writes the guest logic for foreign interpreters as C: its modules as text, for they compile it themselves.

    pack_runner.py OUT.c RUNNER_DIRECTORY CAISSON_DIRECTORY

The second becomes the package `caisson`, the first `caisson.runner`; its bootstrap.py stands apart.
"""

import marshal
import pathlib
import sys

# Read by every Python 3.
_MARSHAL_VERSION = 2


def modules(directory, package):
    for path in sorted(pathlib.Path(directory).glob("*.py")):
        is_package = path.stem == "__init__"
        if path.stem == "bootstrap":
            continue
        yield package if is_package else f"{package}.{path.stem}", (is_package, path.read_text())


def as_array(data):
    return ",".join(map(str, data))


def packed(runner, caisson):
    sources = dict(modules(caisson, "caisson")) | dict(modules(runner, "caisson.runner"))
    return marshal.dumps(sources, _MARSHAL_VERSION)


def main(out, runner, caisson):
    bootstrap = (pathlib.Path(runner) / "bootstrap.py").read_bytes() + b"\0"
    pathlib.Path(out).write_text(
        '#include "guest/runner/sources.h"\n\n'
        f"const char caisson_runner_bootstrap[] = {{{as_array(bootstrap)}}};\n"
        # A char may be signed.
        f"static const unsigned char packed[] = {{{as_array(packed(runner, caisson))}}};\n"
        "const char* const caisson_runner_sources = (const char*)packed;\n"
        "const size_t caisson_runner_size = sizeof packed;\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
