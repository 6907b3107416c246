#!/usr/bin/env python3
"""Writes a package as C: a table of frozen modules for a program that embeds Python.

    freeze.py OUT.c DIRECTORY PACKAGE

Compiled by the interpreter that runs this, which must be of the version that is embedded. What is inside
the program cannot be changed without changing the program.
"""

import marshal
import pathlib
import sys


def modules(directory, package):
    for path in sorted((directory / package).rglob("*.py")):
        parts = path.relative_to(directory).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        yield ".".join(parts[:-1] if is_package else parts), path, is_package


def main(out, directory, package):
    arrays, entries = [], []
    for name, path, is_package in modules(pathlib.Path(directory), package):
        code = compile(path.read_bytes(), f"<frozen {name}>", "exec", dont_inherit=True)
        data = marshal.dumps(code)
        symbol = "code_" + name.replace(".", "_")
        body = ",".join(map(str, data))
        arrays.append(f"static const unsigned char {symbol}[] = {{{body}}};\n")
        entries.append(f'    {{"{name}", {symbol}, sizeof {symbol}, {int(is_package)}, NULL}},\n')
    text = "#include <Python.h>\n\n" + "".join(arrays)
    text += f"\nconst struct _frozen {package}_frozen[] = {{\n" + "".join(entries)
    text += "    {NULL, NULL, 0, 0, NULL},\n};\n"
    pathlib.Path(out).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
