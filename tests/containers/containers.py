"""Caisson in containers: podman's default profile, Docker's, and ours; as root and as user 1000.

    containers.py --programs BUILD --source SOURCE [--root ROOT] [--escape PROGRAM] [unittest options]

ROOT is a root file system of Debian 12 (make_root.sh). Without it, containers get the /usr and /etc of this machine.
Each test starts one container and runs inside.py, or the escape tests, in it. Exits with 77 if no container can be started.
"""

import argparse
import pathlib
import sys
import unittest

import container

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77  # ctest counts the test as skipped.

# Profile, and the strongest tier that it allows.
PROFILES = [(container.PODMAN, "namespace"), (container.DOCKER, "landlock"), (container.CAISSON, "namespace")]


class Containers(unittest.TestCase):
    pass


def in_container(profile, uid, command, timeout):
    def test(self):
        # The same path as outside: tests know where their files are.
        started = container.Container(OPTIONS.root, profile, uid, {OPTIONS.source: str(OPTIONS.source)})
        done = started.run(command, timeout=timeout)
        self.assertEqual(done.returncode, 0, "\n" + (done.stdout + done.stderr).decode(errors="replace"))
    return test


def add_tests():
    for profile, tier in PROFILES:
        for uid in (0, 1000):
            name = f"{profile.name}_{'root' if uid == 0 else 'user'}"
            command = ["/usr/bin/python3.11", str(HERE / "inside.py"), str(OPTIONS.programs / "caisson"), tier]
            setattr(Containers, f"test_{name}", in_container(profile, uid, command, timeout=600))
            if OPTIONS.escape:
                attacks = [str(OPTIONS.escape), "--gtest_brief=1"]
                setattr(Containers, f"test_escape_{name}", in_container(profile, uid, attacks, timeout=900))


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    for name in ("programs", "source", "root", "escape"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=name in ("programs", "source"))
    OPTIONS, rest = parser.parse_known_args()
    reason = container.why_not()
    if reason:
        print("SKIPPED: " + reason)
        sys.exit(SKIPPED)
    add_tests()
    unittest.main(argv=[sys.argv[0], "-v", *rest])


if __name__ == "__main__":
    main()
