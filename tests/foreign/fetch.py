#!/usr/bin/env python3
"""Brings CPython 3.9 of Debian 11 into a directory, for the tests of foreign interpreters.

    fetch.py DIRECTORY

Exits with 77 if it cannot be had, and says why.
"""

import hashlib
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import urllib.request

_SKIPPED = 77
_SERVERS = (
    "http://deb.debian.org/debian/pool/main/p/python3.9/",
    "http://archive.debian.org/debian/pool/main/p/python3.9/",
)
_PACKAGES = {
    "libpython3.9-minimal_3.9.2-1_amd64.deb": "594283526d67e03e3c4e96534f6bfe5da1bf41da5d49360553c9b79fbf08c4ab",
    "libpython3.9-stdlib_3.9.2-1_amd64.deb": "32ac64d959ac2dbc5bb289532fc9834dab8f671b5455695a3a9315aad973c65b",
    "python3.9-minimal_3.9.2-1_amd64.deb": "5d6003c5c20223a2547ac4976e09a9ec778dbe351507a6292bef3b60df5f4aa7",
}


def fetch(name):
    failed = None
    for server in _SERVERS:
        try:
            with urllib.request.urlopen(server + name, timeout=60) as answer:
                data = answer.read()
        except OSError as error:
            failed = error
            continue
        if hashlib.sha256(data).hexdigest() != _PACKAGES[name]:
            sys.exit(f"{server}{name} is not the package it was")
        return data
    print(f"skipped: {name} cannot be fetched: {failed}")
    sys.exit(_SKIPPED)


def main(directory):
    target = pathlib.Path(directory) / "3.9"
    if target.exists():
        return
    if platform.machine() != "x86_64" or shutil.which("dpkg-deb") is None:
        print("skipped: Debian's packages for amd64 cannot be unpacked here")
        sys.exit(_SKIPPED)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as unpacked:
        for name in _PACKAGES:
            package = pathlib.Path(unpacked) / name
            package.write_bytes(fetch(name))
            subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
        (pathlib.Path(unpacked) / "usr").rename(target)  # All of it, or nothing.


if __name__ == "__main__":
    main(sys.argv[1])
