"""Chooses the tier that tests run in: the strongest one that this machine allows.

Containers may refuse namespaces. Suites then run the program in tier landlock, and skip, with the reason, the tests that
need namespaces. The kernel is asked, not the program: a fault of tier namespace still fails its tests.
"""

import atexit
import ctypes
import os
import pathlib
import shlex
import tempfile
import unittest

CLONE_NEWNS = 0x00020000
CAP_SYS_ADMIN = 21
# What tier namespace uses: mount, ipc, user, pid and network namespaces.
NAMESPACES = CLONE_NEWNS | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

# Adds the tier to each command that runs code, unless the command line or the configuration chooses
# one.
WRAPPER = """#!/bin/sh
for argument; do
  case $argument in --tier | --tier=*) exec {program} "$@" ;; esac
  if [ "$before" = --config ] && grep -qs '^tier = ' "$argument"; then exec {program} "$@"; fi
  before=$argument
done
case "$1 $2" in
  "runs resume"* | "workflow run"* | "workflow resume"*)
    command=$1; verb=$2; shift 2; exec {program} "$command" "$verb" --tier landlock "$@" ;;
  "chat "* | "run "* | "mcp "* | "repl "* | "serve "* | "check "* | "bench "*)
    command=$1; shift; exec {program} "$command" --tier landlock "$@" ;;
esac
exec {program} "$@"
"""


def why_not(namespaces=NAMESPACES):
    """Returns why a process may not have these namespaces, or None."""
    library = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        os._exit(0 if library.unshare(namespaces) == 0 else ctypes.get_errno())
    error = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return f"namespaces are refused here (unshare: {os.strerror(error)})" if error else None


def is_root_without_admin():
    """Returns whether this is root of a container, who cannot give a cell the files of others."""
    held = next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:"))
    return os.geteuid() == 0 and not int(held.split()[1], 16) >> CAP_SYS_ADMIN & 1


REFUSED = why_not()
NAME = "landlock" if REFUSED else "namespace"
NOTE = f"caisson: ran in tier {NAME}, which is weaker than the default\n".encode()
CONFIG = f'[engine]\ntier = "{NAME}"\n'  # For commands whose tier must come from the configuration.


def program(path):
    """Returns the program that tests start: `path`, or a script that starts it in tier landlock."""
    path = str(pathlib.Path(path).resolve())
    if not REFUSED:
        return path
    folder = tempfile.TemporaryDirectory(prefix="caisson-tier-")
    atexit.register(folder.cleanup)
    os.chmod(folder.name, 0o755)  # Some tests start it as another user.
    script = pathlib.Path(folder.name) / "caisson"
    script.write_text(WRAPPER.format(program=shlex.quote(path)))
    script.chmod(0o755)
    return str(script)


def without_note(err):
    """Returns what the program wrote to stderr (bytes or None), as it would be in the default tier."""
    return err.replace(NOTE, b"") if REFUSED and err else err


# Skips a test of what only tier namespace has.
needs_namespaces = unittest.skipIf(REFUSED, REFUSED)
# Skips a test that writes to mounts in engine native.
needs_native_rw = unittest.skipIf(
    REFUSED or is_root_without_admin(),
    REFUSED or "root without CAP_SYS_ADMIN cannot give its directories to native cells")
