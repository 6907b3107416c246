#!/usr/bin/env python3
"""Fetches Debian source packages through apt without touching the machine's apt configuration.

The machine's own package sources (one-line `.list` and deb822 `.sources`) are copied into a private list as
deb-src entries, so proxies, mirrors and keys are whatever the machine already trusts. Of those, only the
archives whose signed Release file says "Origin: Debian" are used.

Trust     Everything comes over the network. apt verifies the Release signature and the hash of each index and
          file; a "trusted=yes" of the machine is dropped, so an unsigned archive is refused. dpkg-source
          verifies the hashes in the .dsc once more when it unpacks.
Needs     apt, dpkg-dev. Works as an ordinary user: all state lives under the directory given.

The newest announced version is taken or the fetch fails: whoever can make one download fail must not be able to
choose an older release for us. --allow-older permits the next older signed version, says so, and records it.

Usage: fetch_sources.py [--allow-older] DIRECTORY PACKAGE...
Leaves DIRECTORY/<package>/ for each package and DIRECTORY/VERSIONS with "<package> <version>" lines.
"""

import functools
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys

WANTED_ORIGIN = "Debian"

# Hooks of the machine that want root or have side effects outside our directory.
PRIVATE_CONFIG = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets;
Acquire::IndexTargets::deb-src::Sources {{ MetaKey "$(COMPONENT)/source/Sources"; ShortDescription "Sources";
  Description "$(RELEASE)/$(COMPONENT) Sources"; flatMetaKey "Sources"; flatDescription "$(RELEASE) Sources";
  Optional "0"; }};
Acquire::Languages "none";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Retries "3";
APT::Get::AllowUnauthenticated "false";
APT::Sandbox::User "{user}";
Dir::State "{state}";
Dir::State::Lists "{state}/lists";
Dir::Cache "{state}/cache";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "{state}/sources";
"""


def machine_sources():
    """Yields (kind, text) for every active entry of the machine; kind is "list" or "sources"."""
    answer = subprocess.run(
        ["apt-config", "shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"],
        check=True, capture_output=True, text=True).stdout
    paths = dict(re.findall(r"^(\w+)='(.*)'$", answer, re.M))
    files = [pathlib.Path(paths["LIST"])] if paths.get("LIST") else []
    if paths.get("PARTS"):
        files += sorted(pathlib.Path(paths["PARTS"]).glob("*"))
    for file in files:
        if not file.is_file():
            continue
        if file.suffix == ".list":
            for line in file.read_text().splitlines():
                yield "list", line.split("#", 1)[0].strip()
        elif file.suffix == ".sources":
            for stanza in re.split(r"\n\s*\n", file.read_text()):
                lines = [l for l in stanza.splitlines() if not l.startswith("#") and l.strip()]
                yield "sources", "\n".join(lines)


def as_source_entry(kind, text):
    """The same entry for source packages, or None when it is disabled, empty or not reachable."""
    if kind == "list":
        match = re.match(r"deb(?:-src)?\s+(?:\[(.*?)\]\s+)?((?!cdrom:)\S+\s+.*)$", text)
        if not match:
            return None
        options = [o for o in (match[1] or "").split()
                   if not o.lower().startswith(("trusted=", "arch=", "allow-insecure="))]
        return "deb-src " + (f"[{' '.join(options)}] " if options else "") + match[2]
    if not re.search(r"^Types:.*\bdeb\b", text, re.M | re.I):
        return None
    if re.search(r"^Enabled:\s*(no|false|0|off)\s*$", text, re.M | re.I):
        return None
    text = re.sub(r"^(Types|Trusted|Allow-Insecure|Architectures):.*(\n[ \t].*)*\n?", "", text, flags=re.M | re.I)
    return "Types: deb-src\n" + text.strip()


def write_entries(directory, entries):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for number, (kind, text) in entries.items():
        (directory / f"entry{number:03}.{kind}").write_text(text + "\n")


def apt(config, *arguments, check=True, **more):
    return subprocess.run(["apt-get", "-c", str(config), "-q", *arguments], check=check, text=True,
                          stdin=subprocess.DEVNULL, **more)


def debian_entries(config, entries):
    """Only the entries whose verified Release file names Debian as its origin."""
    answer = apt(config, "indextargets", "--format", "$(ORIGIN)|$(SOURCESENTRY)|$(FILENAME)",
                 "Created-By: Sources", capture_output=True).stdout
    kept = {}
    for line in answer.splitlines():
        origin, source, file = line.split("|", 2)
        number = int(re.search(r"entry(\d+)\.", source)[1])
        if origin == WANTED_ORIGIN and os.path.exists(file):
            kept[number] = entries[number]
    return kept


def announced_versions(config, package):
    """All versions the verified indexes name, newest first."""
    answer = subprocess.run(["apt-cache", "-c", str(config), "showsrc", "--only-source", package],
                            capture_output=True, text=True).stdout
    versions = list(dict.fromkeys(re.findall(r"^Version: (.*)$", answer, re.M)))

    def newer(a, b):
        return subprocess.run(["dpkg", "--compare-versions", a, "gt", b]).returncode == 0

    return sorted(versions, key=functools.cmp_to_key(lambda a, b: -1 if newer(a, b) else 1))


def download(config, package, directory, allow_older):
    """Downloads one package; returns (version, the newer version that was announced but not to be had, or None)."""
    versions = announced_versions(config, package)
    if not versions:
        sys.exit(f"fetch_sources: Debian's archives on this machine have no source package {package}")
    for version in versions if allow_older else versions[:1]:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        # --only-source: "zlib" is the source package of that name, not the source of a binary package.
        done = apt(config, "source", "--only-source", "--download-only", f"{package}={version}",
                   cwd=directory, check=False)
        if done.returncode == 0:
            if version == versions[0]:
                return version, None
            print(f"WARNING: {package} {versions[0]} is announced but cannot be downloaded; using the OLDER {version},"
                  " which may lack security fixes", flush=True)
            return version, versions[0]
    hint = "" if allow_older or len(versions) == 1 else f" (--allow-older would try {versions[1]})"
    sys.exit(f"fetch_sources: {package} {versions[0]} is announced but cannot be downloaded{hint}")


def main():
    allow_older = "--allow-older" in sys.argv
    directory, *packages = [a for a in sys.argv[1:] if a != "--allow-older"]
    directory = pathlib.Path(directory).resolve()
    state = directory / "apt"
    for sub in ("lists/partial", "cache/archives/partial"):
        (state / sub).mkdir(parents=True, exist_ok=True)
    config = state / "apt.conf"
    config.write_text(PRIVATE_CONFIG.format(state=state, user=pwd.getpwuid(os.getuid()).pw_name))

    candidates = [(kind, as_source_entry(kind, text)) for kind, text in machine_sources()]
    entries = dict(enumerate(dict.fromkeys(c for c in candidates if c[1])))
    if not entries:
        sys.exit("fetch_sources: this machine has no apt package sources; add Debian's to its apt configuration")
    write_entries(state / "sources", entries)
    apt(config, "update", check=False)  # a broken third-party entry must not stop us; a missing Debian one will
    entries = debian_entries(config, entries)
    if not entries:
        sys.exit(f"fetch_sources: none of this machine's apt sources is a verified '{WANTED_ORIGIN}' archive")
    write_entries(state / "sources", entries)

    lines = []
    for package in packages:
        downloads = directory / "download"
        version, missed = download(config, package, downloads, allow_older)
        (dsc,) = downloads.glob(f"{package}_*.dsc")
        shutil.rmtree(directory / package, ignore_errors=True)
        subprocess.run(["dpkg-source", "-x", str(dsc), str(directory / package)], check=True, cwd=downloads,
                       stdin=subprocess.DEVNULL)
        shutil.rmtree(downloads)
        for copy in directory.glob("*.orig*"):  # dpkg-source puts the tarballs beside its target
            copy.unlink()
        note = f"  # OLDER: {missed} is announced but could not be downloaded" if missed else ""
        lines.append(f"{package} {version}{note}\n")
    (directory / "VERSIONS").write_text("".join(lines))


if __name__ == "__main__":
    main()
