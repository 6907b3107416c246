"""Caisson in containers: podman's default profile, Docker's, ours, and two of Kubernetes; as root and as user 1000.

    containers.py --programs BUILD --source SOURCE [--root ROOT] [--interpreter PYTHON] [unittest options]

PYTHON is the interpreter that the build's tests are started with.
ROOT is a root file system of Debian 12 (make_root.sh). Without it, containers get the /usr and /etc of this machine.
Each test starts one container. What it runs there:

    test_PROFILE_USER          inside.py: what a user does first
    test_escape_PROFILE_USER   the attacks of tests/escape
    test_tests_PROFILE_USER    a part of `make test`

Exits with 77 if no container can be started.
"""

import argparse
import pathlib
import re
import shlex
import sys
import unittest

import container

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77  # ctest counts the test as skipped.
USERS = {"root": 0, "user": 1000}
PATIENCE = 800  # Seconds; below the time-outs of CMakeLists.txt, so that the container is removed.

# Profile, users, the strongest tier that it allows, what is missing in that tier.
FIRST_STEPS = [
    (container.PODMAN, ("root", "user"), "namespace", "host_name"),
    (container.DOCKER, ("root", "user"), "landlock", ""),
    (container.CAISSON, ("root", "user"), "namespace", ""),
    (container.KUBERNETES, ("user",), "landlock", ""),
    (container.OWN_USERS, ("user",), "namespace", ""),
]

# Profile, user, the attacks that belong to the tier. Podman refuses sethostname, so cells there
# have the container's name.
ESCAPES = [
    (container.PODMAN, "root", "Native/*:Wasm/*:-*/process_host_name"),
    (container.DOCKER, "user", "NativeLandlock/*:WasmLandlock/*"),
    (container.CAISSON, "user", "Native/*"),
]

# Profile, user, which tests, and a reason for which some of them must be skipped there.
SUITES = [
    # Stores ask nothing of a container, and take a while.
    (container.DOCKER, "user", ["--label-regex", "^unit$", "--exclude-regex", "^store_"], "namespaces are refused here"),
    (container.DOCKER, "root", ["--tests-regex", "^cli[.](files|engines|good_runs|ordinary_user|full_disk|doctor)$|^examples$"],
     "namespaces are refused here"),
    (container.PODMAN, "root", ["--tests-regex", "^TreeTest|^cli[.](files|engines|good_runs|ordinary_user|streams|repl|doctor)$"],
     "CAP_SYS_ADMIN"),
]


class Containers(unittest.TestCase):
    def run_in(self, profile, user, command, tmpfs=()):
        """Runs the command to its end, expects success, and returns what it printed."""
        # The same path as outside: tests know where their files are.
        started = container.Container(OPTIONS.root, profile, USERS[user], {OPTIONS.source: str(OPTIONS.source)}, tmpfs)
        done = started.run([str(word) for word in command], timeout=PATIENCE)
        printed = (done.stdout + done.stderr).decode(errors="replace")
        self.assertEqual(done.returncode, 0, "\n" + printed)
        return printed


def first_steps(profile, user, tier, missing):
    def test(self):
        self.run_in(profile, user, ["/usr/bin/python3.11", HERE / "inside.py", OPTIONS.programs / "caisson", tier, missing])
    return test


def escape(profile, user, attacks):
    def test(self):
        printed = self.run_in(profile, user, [OPTIONS.programs / "escape_test", "--gtest_filter=" + attacks])
        self.assertRegex(printed, r"\[  PASSED  \] \d{3}")  # Hundreds of attacks,
        self.assertNotIn("SKIPPED", printed)                # each of which was run.
    return test


def suites(profile, user, which, reason):
    def test(self):
        command = ["/usr/bin/python3.11", "tools/run-tests", OPTIONS.programs.name, "--retry-alone", "--parallel", "2", *which]
        script = f"cd {shlex.quote(str(OPTIONS.source))} && {shlex.join(command)}"
        tmpfs = [OPTIONS.programs / "Testing"]  # ctest writes its log there.
        if not OPTIONS.interpreter.is_relative_to("/usr"):  # ctest starts Python by the name that CMake found.
            tmpfs.append(OPTIONS.interpreter.parent)
            script = f"ln -s /usr/bin/python3.11 {shlex.quote(str(OPTIONS.interpreter))} && {script}"
        printed = self.run_in(profile, user, ["/bin/sh", "-c", script], tmpfs)
        counted = re.findall(r"^ +(\d+)  (.*)$", printed, re.MULTILINE)
        self.assertTrue(any(reason in why and int(count) > 0 for count, why in counted), printed)
    return test


def add_tests():
    for profile, users, tier, missing in FIRST_STEPS:
        for user in users:
            setattr(Containers, f"test_{profile.name}_{user}", first_steps(profile, user, tier, missing))
    for profile, user, attacks in ESCAPES:
        setattr(Containers, f"test_escape_{profile.name}_{user}", escape(profile, user, attacks))
    for profile, user, which, reason in SUITES:
        setattr(Containers, f"test_tests_{profile.name}_{user}", suites(profile, user, which, reason))


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    for name in ("programs", "source", "root"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=name != "root")
    parser.add_argument("--interpreter", type=pathlib.Path, default=pathlib.Path("/usr/bin/python3"))
    OPTIONS, rest = parser.parse_known_args()
    reason = container.why_not()
    if reason:
        print("SKIPPED: " + reason)
        sys.exit(SKIPPED)
    add_tests()
    unittest.main(argv=[sys.argv[0], "-v", *rest])


if __name__ == "__main__":
    main()
