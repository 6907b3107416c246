#!/usr/bin/env python3
"""Downloads CPythons of other Debian releases into a directory, for the tests of foreign
interpreters.

    fetch.py DIRECTORY

apt fetches them into a private directory, with all their dependencies down to the C library, and
trusts only packages signed with Debian's keys. Missing ones are named with the reason; exits with
77 if there is none at all."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

_SKIPPED = 77
_RELEASES = {"3.9": "bullseye", "3.13": "trixie", "3.14": "forky"}
_ARCHIVE = "http://archive.debian.org/debian"  # Where old releases are moved.
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PROGRAMS = ("apt-get", "dpkg-deb", "patchelf")


class Unavailable(Exception):
    pass


class Apt:
    """One release, for a machine that has nothing installed."""

    def __init__(self, directory, server, release):
        self._directory = directory
        for name in ("lists/partial", "archives/partial"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        self._write("status", "")
        self._write("sources", f"deb [arch=amd64 signed-by={_KEYS}] {server} {release} main\n")
        self._write(
            "conf",
            f'Dir::State "{directory}"; Dir::State::status "{directory}/status"; Dir::Cache "{directory}";'
            f'Dir::Etc::SourceList "{directory}/sources"; Dir::Etc::SourceParts "{directory}/none";'
            f'Dir::Etc::Preferences "{directory}/none"; Dir::Etc::PreferencesParts "{directory}/none";'
            'APT::Architecture "amd64"; APT::Install-Recommends "false"; APT::Sandbox::User "";'
            'APT::Update::Error-Mode "any"; Acquire::Languages "none"; Acquire::Check-Valid-Until "false";'
            'Acquire::http::Timeout "60"; DPkg::Lock::Timeout "0"; Debug::NoLocking "true";',
        )

    def _write(self, name, text):
        (self._directory / name).write_text(text)

    def _run(self, *arguments):
        command = ["apt-get", "-q", "-y", "-c", str(self._directory / "conf"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable((done.stderr.strip() or done.stdout.strip()).splitlines()[-1])

    def packages(self, *names):
        self._run("update")
        self._run("install", "--download-only", *names)
        return sorted((self._directory / "archives").glob("*.deb"))


def servers():
    """Returns where this machine has its own Debian from, so that its mirrors and proxies are used."""
    asked = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Identifier: Packages"],
                           capture_output=True, text=True)
    return [*dict.fromkeys(asked.stdout.split()), _ARCHIVE]


def download(version, directory):
    failed = None
    for number, server in enumerate(servers()):
        try:
            apt = Apt(directory / str(number), server, _RELEASES[version])
            return apt.packages(f"python{version}-minimal", f"libpython{version}-stdlib")
        except Unavailable as error:
            failed = failed or error
    raise failed


def install(version, root, target):
    """Makes an installation in `target` that works only at `target`: a cell sees its library and
    nothing of `root`."""
    program = target / f"bin/python{version}"
    library = target / f"lib/python{version}"
    shared = library / "shared"
    program.parent.mkdir(parents=True)
    shutil.copytree(root / f"usr/lib/python{version}", library, symlinks=True, ignore_dangling_symlinks=True)
    packages = root / f"usr/lib/python3/dist-packages"
    if packages.exists():
        shutil.copytree(packages, target / "lib/python3/dist-packages")
    shared.mkdir()
    for folder in ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"):
        for file in (root / folder).glob("*.so*"):
            if not (shared / file.name).exists():
                # Copies the file behind a link, not the link.
                shutil.copy(file, shared / file.name)
    shutil.copy(root / f"usr/bin/python{version}", program)


def link(version, target, final):
    """Makes the program and its modules find their loader and libraries at their final place."""
    shared = final / f"lib/python{version}/shared"
    subprocess.run(
        ["patchelf", "--set-interpreter", shared / "ld-linux-x86-64.so.2",
         "--force-rpath", "--set-rpath", shared, target / f"bin/python{version}"], check=True)


def bring(version, directory):
    final = directory / version
    if final.exists():
        return
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        scratch = pathlib.Path(scratch)
        root = scratch / "root"
        for package in download(version, scratch / "apt"):
            subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        install(version, root, scratch / version)
        link(version, scratch / version, final)
        (scratch / version).rename(final)  # All of it, or nothing.


def main(directory):
    directory = pathlib.Path(directory).resolve()
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        print("skipped: there is no", ", no ".join(missing))
        return _SKIPPED
    directory.mkdir(parents=True, exist_ok=True)
    brought = 0
    for version in _RELEASES:
        try:
            bring(version, directory)
            brought += 1
        except Unavailable as error:
            print(f"skipped: CPython {version} of Debian {_RELEASES[version]} cannot be fetched: {error}")
    return 0 if brought else _SKIPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
