"""A control group for a test that measures time, as a service manager or a container makes one.

    with own_group.entered() as entered: ...

Outside of such groups, kernels with autogroups (kernel.sched_autogroup_enabled) divide each
processor equally between sessions, whatever the priorities of their processes are. Each cell and
worker is a session. Inside of a group, the priorities count. The group also outweighs other
programs of the machine, as if it were idle.

Needs root and the controller `cpu`; `entered` is False where that is missing."""

import contextlib
import os
import pathlib
import signal
import sys


def cpu_mount():
    """Returns the directory of our group, and the file and value of its weight; None without one."""
    groups = dict(line.split(":", 2)[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options = line.split()[:4]
        if kind == "cgroup" and "cpu" in options.split(","):
            for controllers, path in groups.items():
                if "cpu" in controllers.split(","):
                    return pathlib.Path(place + path), "cpu.shares", "65536"
        if kind == "cgroup2" and "" in groups:
            parent = pathlib.Path(place + groups[""])
            controllers = parent / "cgroup.subtree_control"
            if controllers.exists() and "cpu" in (parent / "cgroup.controllers").read_text().split():
                with contextlib.suppress(OSError):
                    controllers.write_text("+cpu")
                if "cpu" in controllers.read_text().split():
                    return parent, "cpu.weight", "10000"
    return None


def make():
    """Returns the directory of a new group and of its parent."""
    found = cpu_mount()
    if found is None:
        return None
    parent, weight, value = found
    group = parent / f"caisson-test-{os.getpid()}"
    group.mkdir()
    (group / weight).write_text(value)
    (group / "cgroup.procs").write_text("0")
    return group, parent


@contextlib.contextmanager
def entered():
    # A test that runs out of time leaves no group and no server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    try:
        made = make()
    except OSError:
        made = None
    try:
        yield made is not None
    finally:
        if made is not None:
            group, parent = made
            with contextlib.suppress(OSError):
                (parent / "cgroup.procs").write_text("0")
                group.rmdir()
