"""Replicas of `caisson serve` on one PostgreSQL server, and the faults that happen to them."""

import ctypes
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import threading

CLONE_NEWNS = 0x00020000
LEASE_SECONDS = 2
DISK_BYTES = 4 << 30  # A bound; only what is stored takes memory.
TOOL = """
[[tool]]
name = "{name}"
kind = "command"
command = ["./note.sh"]
approval = "{approval}"
input_schema = {{ type = "object", properties = {{ id = {{ type = "string" }} }}, required = ["id"] }}
"""
# Swallows large arguments.
COUNT = """
[[tool]]
name = "count"
kind = "command"
command = ["/usr/bin/wc", "-c"]
approval = "never"
input_schema = { type = "object", properties = { x = {} } }
"""
# One write per effect, so that lines of several processes do not mix.
NOTE = "#!/bin/sh\nread line\necho \"$line\" >> effects\necho 1\n"


def key_of(user):
    return f"the-key-of-user-{user:03d}-0123456789"


def own_mounts():
    """Gives this process mounts of its own. Returns False if it may not."""
    libc = ctypes.CDLL(None, use_errno=True)
    return os.geteuid() == 0 and libc.unshare(CLONE_NEWNS) == 0 and \
        subprocess.run(["mount", "--make-rprivate", "/"]).returncode == 0


class Database:
    """A real PostgreSQL server, whose tables are on a disk of their own if `disk` is a directory."""

    def __init__(self, disk):
        script = pathlib.Path(__file__).parents[1] / "store" / "postgres_server.sh"
        self.process = subprocess.Popen([script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.directory = pathlib.Path(self.process.stdout.readline().decode().strip())
        self.url = f"postgres://caisson@/postgres?host={self.directory}"
        self.bin = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.disk = disk
        if disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "tmpfs", disk], check=True)
            shutil.chown(disk, "postgres")
            self.ask(f"create tablespace small location '{disk}'")
            self.ask("alter role caisson set default_tablespace = small")

    def ask(self, statement):
        subprocess.run([self.bin / "psql", "-h", self.directory, "-U", "caisson", "-q", "-c", statement, "postgres"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=True)

    def drop_connections(self):
        self.ask("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")

    def restart(self):
        """As after a crash: nothing is told to its clients."""
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        subprocess.run([*as_user, self.bin / "pg_ctl", "-D", self.directory / "data", "-l", self.directory / "log",
                        "-m", "immediate", "-w", "restart"], cwd="/", stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, timeout=120, check=True)

    def fill_disk(self):
        """Leaves no room. The kernel refuses a size below what is taken, so the size is what is taken now."""
        held = os.statvfs(self.disk)
        used = (held.f_blocks - held.f_bfree) * held.f_frsize
        subprocess.run(["mount", "-o", f"remount,size={used + (256 << 10)}", self.disk], check=True)

    def free_disk(self):
        subprocess.run(["mount", "-o", f"remount,size={DISK_BYTES}", self.disk], check=True)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        if self.disk:
            subprocess.run(["umount", "-l", self.disk])


def children_of(parent):
    found = []
    for each in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = each.read_text().partition(" ")
        except OSError:
            continue  # It has ended.
        if int(rest.rpartition(")")[2].split()[1]) == parent:
            found.append(int(pid))
    return found


class Replica:
    """One server. It is started again after it was killed; any other end is a fault."""

    def __init__(self, program, work, number):
        self.command = [program, "serve", "--config", "caisson.toml", "--listen", "127.0.0.1:0"]
        self.work, self.number = work, number
        self.process, self.port = None, None

    @property
    def log(self):
        return self.work / f"replica-{self.number}.log"

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, cwd=self.work, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=log)
        line = self.process.stdout.readline()
        self.port = int(line.rsplit(b":", 1)[1]) if line.startswith(b"listening") else None

    def kill(self):
        self.port = None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def kill_child(self, choose):
        """Kills a worker, a fork server or a program starter. Returns False if there is none."""
        pids = children_of(self.process.pid)
        if not pids:
            return False
        try:
            os.kill(choose(pids), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def pause(self, wait):
        """Stops the server for longer than its lease."""
        self.process.send_signal(signal.SIGSTOP)
        wait(LEASE_SECONDS * 2)
        self.process.send_signal(signal.SIGCONT)

    def resident_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
        return 0


class Cluster:
    def __init__(self, program, work, users, replicas):
        self.work = work
        self.killing = threading.Lock()  # Held while a replica is down on purpose.
        has_disk = own_mounts()
        disk = work / "disk"
        disk.mkdir()
        work.chmod(0o755)
        self.database = Database(disk if has_disk else None)
        (work / "note.sh").write_text(NOTE)
        (work / "note.sh").chmod(0o755)
        (work / "effects").touch()
        (work / "caisson.toml").write_text(self.config(users))
        self.replicas = [Replica(program, work, number) for number in range(replicas)]

    def config(self, users):
        keys = "".join(f'[[identity.key]]\ntenant = "acme"\nuser = "user{user}"\n'
                       f'sha256 = "{hashlib.sha256(key_of(user).encode()).hexdigest()}"\n' for user in range(users))
        return (f'[store]\nurl = "{self.database.url}"\n[runs]\nlease_seconds = {LEASE_SECONDS}\npark_seconds = 2\n'
                f'[policy]\npreset = "open"\n[identity]\nmode = "keys"\n{keys}'
                + TOOL.format(name="note", approval="never") + TOOL.format(name="gated", approval="always") + COUNT)

    def ports(self):
        return [replica.port for replica in self.replicas if replica.port]

    def dead(self):
        """Returns a line for each replica that ended although nobody killed it."""
        with self.killing:
            return [f"replica {each.number} ended with status {each.process.poll()}:\n{each.log.read_text()[-4000:]}"
                    for each in self.replicas if each.process and each.process.poll() is not None]

    def effects(self):
        return (self.work / "effects").read_text().splitlines()
