"""Starts programs in containers as Docker and podman start them: runc, their default capabilities, mounts and seccomp profiles.

A Profile is one way to start a container. Profiles have the format that Docker and podman share, and are translated for
runc: each rule counts if its conditions hold (capabilities, architecture, kernel).
"""

import contextlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import uuid

HERE = pathlib.Path(__file__).resolve().parent

DOCKER_CAPABILITIES = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID",
                       "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL",
                       "CAP_AUDIT_WRITE"]
PODMAN_CAPABILITIES = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE",
                       "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT"]

# The same in Docker and podman.
MASKED = ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
          "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]

LINKS = ["bin", "lib", "lib64", "sbin"]  # Into /usr, as Debian has them.


def holds(conditions, capabilities):
    """Returns whether the conditions of a rule (its `includes`) hold for this container."""
    if not set(conditions.get("caps", [])) <= set(capabilities):
        return False
    if "arches" in conditions and "amd64" not in conditions["arches"]:
        return False
    kernel = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
    return kernel >= tuple(int(part) for part in conditions.get("minKernel", "0.0").split("."))


def excluded(conditions, capabilities):
    """Returns whether one of the conditions of `excludes` holds, which disables the rule."""
    return any(c in capabilities for c in conditions.get("caps", [])) or "amd64" in conditions.get("arches", [])


def for_runc(profile, capabilities):
    """The profile as runc takes it."""
    rules = []
    for rule in profile["syscalls"]:
        if not holds(rule.get("includes") or {}, capabilities) or excluded(rule.get("excludes") or {}, capabilities):
            continue
        made = {"names": rule.get("names") or [rule["name"]], "action": rule["action"]}
        if rule.get("args"):
            made["args"] = rule["args"]
        if rule.get("errnoRet") is not None:
            made["errnoRet"] = rule["errnoRet"]
        rules.append(made)
    made = {"defaultAction": profile["defaultAction"], "architectures": ["SCMP_ARCH_X86_64"], "syscalls": rules}
    if profile.get("defaultErrnoRet") is not None:
        made["defaultErrnoRet"] = profile["defaultErrnoRet"]
    return made


class Profile:
    """A seccomp profile with what goes with it.

    capabilities        what root has.
    no_new_privileges   as allowPrivilegeEscalation: false in Kubernetes, or Docker's no-new-privileges.
    own_users           the container has a user namespace, as with hostUsers: false in Kubernetes.
    """

    def __init__(self, name, file, capabilities, no_new_privileges=False, own_users=False):
        self.name, self.file, self.capabilities = name, file, capabilities
        self.no_new_privileges, self.own_users = no_new_privileges, own_users


DOCKER_FILE = HERE / "profiles/docker.json"
CAISSON_FILE = HERE.parent.parent / "packaging/caisson.seccomp.json"
PODMAN = Profile("podman", HERE / "profiles/podman.json", PODMAN_CAPABILITIES)
DOCKER = Profile("docker", DOCKER_FILE, DOCKER_CAPABILITIES)
CAISSON = Profile("caisson", CAISSON_FILE, DOCKER_CAPABILITIES)
# A restricted pod. RuntimeDefault is the profile of containerd, which was made from Docker's.
KUBERNETES = Profile("kubernetes", DOCKER_FILE, [], no_new_privileges=True)
# The pod of packaging/kubernetes.
OWN_USERS = Profile("own_users", CAISSON_FILE, [], no_new_privileges=True, own_users=True)

# Which users of the machine the users of a container with own_users are.
FIRST_USER, USERS = 100_000, 65_536


def why_not():
    """Returns why no container can be started here, or None."""
    if os.getuid() != 0:
        return "containers are started by root here"
    return None if shutil.which("runc") else "runc is not installed"


class Container:
    """One way to start containers. The root file system is read-only, /tmp is a tmpfs.

    root    a directory with a root file system; None: the machine's own /usr and /etc, which cost no time to make.
    binds   directories of the machine that can be written: {source: path in the container}.
    tmpfs   paths that get an empty file system of their own.
    """

    def __init__(self, root, profile, uid, binds, tmpfs=()):
        self.root, self.profile, self.uid, self.binds, self.tmpfs = root, profile, uid, binds, tmpfs
        self.capabilities = profile.capabilities if uid == 0 else []

    def make_root(self, bundle):
        """Makes the root file system that mounts() fills with directories of the machine. Returns its path."""
        root = bundle / "root"
        root.mkdir()
        if self.profile.own_users:  # Its root makes the mount points.
            os.chown(root, FIRST_USER, FIRST_USER)
        for link in LINKS:
            (root / link).symlink_to(f"usr/{link}")
        return root

    def remove_root(self, root):
        """Removes what make_root() and runc made: links and empty directories. Never files, in case a mount is left."""
        for link in LINKS:
            (root / link).unlink(missing_ok=True)
        for folder, _, _ in os.walk(root, topdown=False):
            with contextlib.suppress(OSError):  # What is busy stays: an error here would hide the test's own.
                os.rmdir(folder)

    def mounts(self):
        mounts = [
            {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755"]},
            {"destination": "/dev/pts", "type": "devpts", "source": "devpts",
             "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "shm",
             "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]},
            {"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue", "options": ["nosuid", "noexec", "nodev"]},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]},
            {"destination": "/var/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]},
        ]
        for path in ("/usr", "/etc") if self.root is None else ():
            mounts.append({"destination": path, "type": "bind", "source": path, "options": ["bind", "ro", "nosuid"]})
        for source, target in self.binds.items():
            mounts.append({"destination": target, "type": "bind", "source": str(source), "options": ["rbind", "rw"]})
        for path in self.tmpfs:
            mounts.append({"destination": str(path), "type": "tmpfs", "source": "tmpfs",
                           # runc gives it the mode of the directory below.
                           "options": ["nosuid", "nodev", f"uid={self.uid}", f"gid={self.uid}"]})
        return mounts

    def config(self, root, command, environment):
        capabilities = {kind: self.capabilities for kind in ("bounding", "effective", "permitted")}
        seccomp = for_runc(json.loads(self.profile.file.read_text()), self.capabilities)
        namespaces = ["pid", "network", "ipc", "uts", "mount"] + (["user"] if self.profile.own_users else [])
        mappings = [{"containerID": 0, "hostID": FIRST_USER, "size": USERS}] if self.profile.own_users else []
        return {
            "ociVersion": "1.0.2",
            "process": {"terminal": False, "user": {"uid": self.uid, "gid": self.uid}, "args": command,
                        "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "container=oci", "HOME=/tmp",
                                *(f"{k}={v}" for k, v in environment.items())],
                        "cwd": "/tmp", "capabilities": capabilities, "noNewPrivileges": self.profile.no_new_privileges},
            "root": {"path": str(root), "readonly": True},
            "hostname": "container",
            "mounts": self.mounts(),
            "linux": {"namespaces": [{"type": kind} for kind in namespaces],
                      "uidMappings": mappings, "gidMappings": mappings,
                      "maskedPaths": MASKED, "readonlyPaths": READ_ONLY, "seccomp": seccomp},
        }

    def run(self, command, stdin=b"", timeout=120, environment=None):
        """Runs the command to its end; the result of subprocess.run."""
        bundle = pathlib.Path(tempfile.mkdtemp(prefix="caisson-bundle-"))
        bundle.chmod(0o711)  # Root of a container with own_users is an ordinary user here.
        name = f"caisson-{uuid.uuid4().hex[:12]}"
        try:
            root = self.root or self.make_root(bundle)
            (bundle / "config.json").write_text(json.dumps(self.config(root, command, environment or {})))
            return subprocess.run(["runc", "run", "--bundle", str(bundle), name], input=stdin, capture_output=True,
                                  timeout=timeout)
        finally:
            subprocess.run(["runc", "delete", "--force", name], capture_output=True)
            if self.root is None:
                self.remove_root(bundle / "root")
            (bundle / "config.json").unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                bundle.rmdir()
