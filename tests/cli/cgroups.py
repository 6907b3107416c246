"""Memory limits of engine native with delegated cgroups: the real ones, of each version that this
machine has."""

import __main__
import os
import pathlib

import harness

CONTROLLERS = ("memory", "pids")
SEVERAL = ("--limit", "processes=10", "--limit", "memory_bytes=67108864", "--limit", "wall_seconds=50", "--limit", "cpu_seconds=100")

# Each process stays within the limit, all together do not. The kernel kills one of them, or all.
FORKED = """
import os
ready, waiting = os.pipe(), os.pipe()
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        TAKE
        os.write(ready[1], b".")
        os.close(ready[1])
        os.close(waiting[1])
        os.read(waiting[0], 1)
        os._exit(0)
    children.append(child)
os.close(ready[1])
held = 0
while held < 8 and os.read(ready[0], 1): held += 1
os.close(waiting[1])
sorted({os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children})
"""
# Ways to take 48 MiB and to use them.
TAKEN = {
    "objects": "kept = bytearray(48 << 20)\n        for i in range(0, len(kept), 4096): kept[i] = 1",
    "mmap": "import mmap\n        kept = mmap.mmap(-1, 48 << 20)\n        for i in range(0, 48 << 20, 4096): kept[i] = 1",
    "ctypes": "import ctypes\n        libc = ctypes.CDLL(None)\n        libc.malloc.restype = ctypes.c_void_p\n"
              "        kept = libc.malloc(ctypes.c_size_t(48 << 20))\n"
              "        libc.memset(ctypes.c_void_p(kept), 1, ctypes.c_size_t(48 << 20))",
}


def hierarchies(kind):
    """Returns where file systems of this kind are mounted, with their options."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    return [(pathlib.Path(point), options.split(",")) for _, point, its_kind, options, *_ in mounts if its_kind == kind]


class Delegated:
    """A part of the v2 tree that belongs to the user, as systemd delegates it: processes in `host`,
    groups beside it."""

    def __init__(self, user):
        if not harness.is_root():
            raise harness.unittest.SkipTest("only root can make a part of the cgroup tree its own")
        points = [point for point, _ in hierarchies("cgroup2")]
        if not points:
            raise harness.unittest.SkipTest("cgroup v2 is not mounted")
        there = (points[0] / "cgroup.controllers").read_text().split()
        if missing := [name for name in CONTROLLERS if name not in there]:
            raise harness.unittest.SkipTest(f"cgroup v2 has not got: {' '.join(missing)} (they are version 1's here)")
        self.top = points[0] / f"caisson-test-{os.getpid()}"
        try:
            self.hand_down(points[0])
            self.top.mkdir()
        except OSError as error:
            raise harness.unittest.SkipTest(f"no part of cgroup v2 can be made our own: {error}")
        self.hand_down(self.top)
        self.host = self.top / "host"
        self.host.mkdir()
        for group in (self.top, self.host):
            for path in (group, group / "cgroup.procs", group / "cgroup.subtree_control"):
                os.chown(path, user, user)
        # Only root can move a process in from outside.
        self.door = os.open(self.host / "cgroup.procs", os.O_WRONLY)

    @staticmethod
    def hand_down(group):
        file = group / "cgroup.subtree_control"
        for name in set(CONTROLLERS) - set(file.read_text().split()):
            file.write_text(f"+{name}")

    def enter(self):
        os.write(self.door, b"0")

    def groups(self):
        return sorted(path.name for path in self.top.iterdir() if path.is_dir() and path != self.host)

    def remove(self):
        os.close(self.door)
        self.host.rmdir()
        self.top.rmdir()


class AsItIs:
    """Version 1, where this process's own groups count as delegated."""

    def __init__(self, user):
        points = [point for point, options in hierarchies("cgroup") if set(CONTROLLERS) & set(options)]
        if not harness.is_root() or len(points) < len(CONTROLLERS) or not all(os.access(p, os.W_OK) for p in points):
            raise harness.unittest.SkipTest("no groups can be made in cgroup v1")

    def enter(self):
        pass

    def groups(self):
        return []  # Other processes may make groups there at the same time.

    def remove(self):
        pass


class Groups:
    """Tests for every version: `make_tree` makes the tree, for `user`."""

    user = 0

    def setUp(self):
        super().setUp()
        self.tree = self.make_tree(self.user)
        self.addCleanup(self.tree.remove)

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.tree.groups(), [], "groups are left behind")

    def native(self, code, *arguments):
        return self.outcome_of(code, "--engine", "native", *arguments, preexec_fn=self.tree.enter, user=self.user)

    def expect_out_of_memory(self, outcome):
        self.assertNotIn("cgroup", outcome["boundary"]["missing"], outcome)
        if outcome["status"] == "completed":
            self.assertIn(-9, outcome["result"], outcome)
        else:
            self.assertEqual((outcome["status"], outcome["reason"]), ("limit", "memory"), outcome)

    def test_processes_are_limited_together_whatever_they_take_memory_with(self):
        for way, take in TAKEN.items():
            with self.subTest(way):
                self.expect_out_of_memory(self.native(FORKED.replace("TAKE", take), *SEVERAL))

    def test_a_run_within_its_memory_is_not_ended(self):
        code = FORKED.replace("TAKE", TAKEN["objects"].replace("48", "4"))
        self.assertEqual(self.native(code, *SEVERAL)["result"], [0])

    def test_one_process_that_takes_too_much(self):
        for code in ("import mmap\nkept = []\nwhile True: kept.append(mmap.mmap(-1, 1 << 20))",
                     "import ctypes\nkept = []\nwhile True: kept.append(ctypes.create_string_buffer(1 << 20))"):
            outcome = self.native(code, *SEVERAL)
            self.assertIn(outcome["reason"], ("memory", "raised"), outcome)
            self.assertNotIn("cgroup", outcome["boundary"]["missing"], outcome)

    @harness.unittest.skipUnless(harness.has_package("numpy"), "numpy is not installed")
    def test_numpy(self):
        code = "import numpy as np\n" + FORKED.replace("TAKE", "kept = np.ones(10 << 20)")
        limits = [value.replace("67108864", str(200 << 20)) for value in SEVERAL]
        self.expect_out_of_memory(self.native(code, *limits))

    def test_a_fork_bomb(self):
        code = "import os, time\nwhile True:\n    try:\n        if os.fork() == 0: time.sleep(60)\n    except OSError: break\n'bounded'"
        outcome = self.native(code, "--limit", "processes=10")
        self.assertEqual(outcome["result"], "bounded", outcome)
        self.assertNotIn("cgroup", outcome["boundary"]["missing"], outcome)

    def test_cpu_time_counts_for_all_together(self):
        code = "import os, time\nfor _ in range(3):\n    if os.fork() == 0:\n        while True: pass\nwhile True: time.sleep(60)"
        outcome = self.native(code, "--limit", "processes=4", "--limit", "cpu_seconds=0.5", "--limit", "wall_seconds=50")
        self.assertEqual((outcome["status"], outcome["reason"]), ("limit", "cpu_time"), outcome)


class GroupsOfVersion1(Groups, harness.CliTest):
    make_tree = AsItIs


class GroupsOfVersion2(Groups, harness.CliTest):
    make_tree = Delegated


class GroupsOfVersion2ForAnOrdinaryUser(GroupsOfVersion2):
    user = harness.NOBODY


if __name__ == "__main__":
    harness.run_suite(__main__)
