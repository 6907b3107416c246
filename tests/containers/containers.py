"""Caisson in containers: podman's default profile, Docker's, and ours; as root and as user 1000.

    containers.py --programs BUILD --source SOURCE --root ROOT [--escape PROGRAM] [unittest options]

ROOT is a Debian root file system (make_root.sh). Each test starts one container and runs inside.py, or the escape tests, in it.
"""

import argparse
import os
import pathlib
import shutil
import sys
import unittest

import container

HERE = pathlib.Path(__file__).parent
PACKAGING = HERE.parent.parent / "packaging"

# Profile, and the strongest tier that it allows.
PROFILES = [
    (container.Profile("podman", container.PODMAN_PROFILE, container.PODMAN_CAPABILITIES), "namespace"),
    (container.Profile("docker", container.DOCKER_PROFILE, container.DOCKER_CAPABILITIES), "landlock"),
    (container.Profile("caisson", PACKAGING / "caisson.seccomp.json", container.DOCKER_CAPABILITIES), "namespace"),
]


class Containers(unittest.TestCase):
    pass


def in_container(profile, uid, command, timeout):
    def test(self):
        if not profile.file.exists():
            self.skipTest(f"{profile.file} is not installed")
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
        parser.add_argument(f"--{name}", type=pathlib.Path, required=name != "escape")
    OPTIONS, rest = parser.parse_known_args()
    if os.getuid() != 0 or not shutil.which("runc"):
        print("skipped: containers are started by root with runc")
        return
    add_tests()
    unittest.main(argv=[sys.argv[0], "-v", *rest])


if __name__ == "__main__":
    main()
