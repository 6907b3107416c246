#!/usr/bin/env python3
"""Packs what a cell can import or read into one read-only file, library.img.

  lib/caisson/...        our own Python files; comes first on sys.path
  lib/python3.11/...     the standard library, sources and bytecode
  usr/share/zoneinfo/... time zones

The format, little-endian, no padding except where said (kept simple: the worker maps it and searches by bisection):
  8 bytes   magic "CAISLIB1"
  u32       number of entries
  entries   28 bytes each, sorted by path bytes:
              u32 path_offset, u32 path_length, u64 data_offset, u64 size, u32 kind (0 file, 1 directory)
  paths     one after the other, not terminated, no leading slash; every directory is listed except the root
  data      file contents, each at a multiple of 8; files with equal contents share them
All offsets count from the start of the file. A directory has data_offset 0 and size 0.

Bytecode is "unchecked hash": the guest takes it without looking at the source's time or content, which cannot change. It is
found where importlib looks, __pycache__/<name>.cpython-311.pyc. Run with Debian's python3.11 and PYTHONHASHSEED=0, which
makes the output the same every time.
"""

import argparse
import importlib.util
import os
import pathlib
import py_compile
import struct
import sys
import tempfile

MAGIC = b"CAISLIB1"
STDLIB = "lib/python3.11"
OWN = "lib/caisson"
ZONEINFO = "usr/share/zoneinfo"

# Nothing a cell can use: no windows, no installation of packages, no C calls, no tests.
LEFT_OUT = set("""test tests idlelib tkinter turtledemo turtle.py lib2to3 ensurepip distutils venv pydoc_data msilib ctypes
    curses site-packages __pycache__ __phello__ idle_test""".split())

# The few build-time variables the library asks for; the real file would name the build machine's directories.
SYSCONFIG = f"{STDLIB}/_sysconfigdata__wasm32-wasi.py"
SYSCONFIG_TEXT = f'''"""Build-time variables the standard library asks for."""
build_time_vars = {{
    "ABIFLAGS": "",
    "EXT_SUFFIX": ".cpython-311-wasm32-wasi.so",
    "HOST_GNU_TYPE": "wasm32-unknown-wasi",
    "MULTIARCH": "wasm32-wasi",
    "Py_DEBUG": 0,
    "SIZEOF_VOID_P": 4,
    "SOABI": "cpython-311-wasm32-wasi",
    "TZPATH": "/{ZONEINFO}",
    "VERSION": "3.11",
    "WITH_PYMALLOC": 1,
}}
'''


def python_tree(root, prefix):
    """{path in the image: content} of the Python files under root."""
    files = {}
    for directory, names, entries in os.walk(root):
        names[:] = sorted(n for n in names if n not in LEFT_OUT)
        for entry in sorted(entries):
            if entry.endswith((".py", ".txt", ".json")) and entry not in LEFT_OUT:
                path = pathlib.Path(directory, entry)
                files[f"{prefix}/{path.relative_to(root).as_posix()}"] = path.read_bytes()
    return files


def zoneinfo_tree(root):
    """Time zone files; a link that leaves the directory (the machine's own local time) is not followed."""
    files, real_root = {}, os.path.realpath(root)
    for directory, names, entries in os.walk(root):
        if directory == str(root):
            names[:] = [n for n in names if n not in ("posix", "right")]  # copies, and a time scale Python cannot use
        names.sort()
        for entry in sorted(entries):
            path = os.path.join(directory, entry)
            if not os.path.realpath(path).startswith(real_root + "/"):
                continue
            content = pathlib.Path(path).read_bytes()
            if content.startswith(b"TZif") or entry.endswith(".tab"):
                files[f"{ZONEINFO}/{os.path.relpath(path, root)}"] = content
    return files


def bytecode(files):
    """The compiled twin of every source file."""
    compiled = {}
    with tempfile.TemporaryDirectory() as directory:
        source, target = os.path.join(directory, "source.py"), os.path.join(directory, "target.pyc")
        for path in sorted(p for p in files if p.endswith(".py")):
            pathlib.Path(source).write_bytes(files[path])
            py_compile.compile(source, target, dfile="/" + path, doraise=True, optimize=0,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
            head, tail = os.path.split(path)
            name = f"{head}/__pycache__/{tail[:-3]}.{sys.implementation.cache_tag}.pyc"
            assert "/" + name == importlib.util.cache_from_source("/" + path), name
            compiled[name] = pathlib.Path(target).read_bytes()
    return compiled


def image(files):
    directories = {parent.as_posix() for path in files for parent in pathlib.PurePosixPath(path).parents} - {"."}
    entries = sorted([(p.encode(), files[p]) for p in files] + [(d.encode(), None) for d in directories])
    paths = b"".join(path for path, _ in entries)
    path_offset = len(MAGIC) + 4 + 28 * len(entries)
    position = path_offset + len(paths)
    table, data, known = [], [], {}
    for path, content in entries:
        offset, size = 0, 0
        if content is not None:
            size = len(content)
            if content not in known:
                padding = -position % 8
                known[content] = position + padding
                data += [bytes(padding), content]
                position += padding + size
            offset = known[content]
        table.append(struct.pack("<IIQQI", path_offset, len(path), offset, size, int(content is None)))
        path_offset += len(path)
    return b"".join([MAGIC, struct.pack("<I", len(entries)), *table, paths, *data])


def main():
    parser = argparse.ArgumentParser()
    for option in ("--stdlib", "--own", "--zoneinfo", "--output"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    args = parser.parse_args()
    if sys.version_info[:2] != (3, 11) or os.environ.get("PYTHONHASHSEED") != "0":
        sys.exit("pack_library: run with python3.11 and PYTHONHASHSEED=0")

    files = python_tree(args.stdlib, STDLIB)
    files[SYSCONFIG] = SYSCONFIG_TEXT.encode()
    own = python_tree(args.own, OWN) if args.own.is_dir() else {}
    files |= own
    files |= bytecode(files)
    files |= zoneinfo_tree(args.zoneinfo)
    content = image(files)
    temporary = args.output.with_suffix(".new")
    temporary.write_bytes(content)
    temporary.replace(args.output)
    print(f"{len(files)} files ({len(own)} of our own), {len(content) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
