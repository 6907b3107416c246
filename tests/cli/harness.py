"""Runs the caisson program for tests, and detects what it leaves behind."""

import ctypes
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tier  # noqa: E402

PROGRAM = None    # Chooses the tier (tests/tier.py).
INSTALLED = None  # The folder of the real program.
PATIENCE = 60  # Seconds until a waiting test gives up. Generous, because machines are busy.
# Factor by which sanitizers may be slower (CMakePresets.json).
SLOWDOWN = float(os.environ.get("CAISSON_TEST_SLOWDOWN", 1))
NOBODY = 65534
PR_SET_CHILD_SUBREAPER = 36
SKIPPED = 77  # ctest counts the suite as skipped.


def run_suite(module):
    """The main program of a suite: SUITE.py PROGRAM [unittest arguments]."""
    global PROGRAM, INSTALLED
    INSTALLED = pathlib.Path(sys.argv[1]).resolve().parent
    PROGRAM = tier.program(sys.argv.pop(1))
    # Orphans of the program become our children, so that we see everything that it leaves running.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main(module=module, verbosity=2)


def skip_suite(reason):
    """Ends the program; tools/run-tests shows the reason."""
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


class Done:
    """The end of one run of the program."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def outcome(self):
        """The outcome of --json: exactly one line."""
        lines = self.out.decode().splitlines()
        assert len(lines) == 1 and self.out.endswith(b"\n"), f"not one line: {self.out!r} {self.err!r}"
        return json.loads(lines[0])

    def __repr__(self):
        return f"status {self.status}\nstdout {self.out!r}\nstderr {self.err!r}"


class CliTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="caisson-cli-")
        self.addCleanup(directory.cleanup)
        self.top = pathlib.Path(directory.name)
        self.top.chmod(0o755)
        self.work = self.top / "work"  # The working directory.
        self.tmp = self.top / "tmp"    # TMPDIR.
        self.work.mkdir()
        self.tmp.mkdir()
        self.tmp.chmod(0o777)
        self.kept = set()

    def tearDown(self):
        self.expect_no_child()
        self.assertEqual(list(self.tmp.iterdir()), [], "left in TMPDIR")
        left = {p.relative_to(self.work).as_posix() for p in self.work.rglob("*")}
        self.assertEqual(left - self.kept, set(), "left in the working directory")

    def put(self, name, contents):
        """Writes a file in the working directory."""
        path = self.work / name
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        self.kept.add(name)
        return name

    def start(self, *arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        if options.get("user") is not None:
            options.setdefault("group", options["user"])
            options.setdefault("extra_groups", [])
        variables = {"TMPDIR": str(self.tmp), "PATH": os.environ["PATH"], **options.pop("variables", {})}
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.work, env=variables, **options)
        self.addCleanup(self.discard, process)
        return process

    @staticmethod
    def discard(process):
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def caisson(self, *arguments, code=None, **options):
        """Runs the program to its end, with `code` as its stdin."""
        if code is not None:
            options["stdin"] = subprocess.PIPE
            code = code if isinstance(code, bytes) else code.encode()
        process = self.start(*arguments, **options)
        out, err = process.communicate(code, timeout=PATIENCE)
        done = Done(process.returncode, out, err if "--tier" in arguments else tier.without_note(err))
        self.assertGreaterEqual(done.status, 0, f"killed by a signal: {done}")
        self.assertNotIn(b"internal error", done.err or b"", done)
        return done

    def run_code(self, code, *arguments, **options):
        """Runs with the policy off, unless the test sets one: most tests are about what is behind
        it."""
        policy = () if "--policy" in arguments else ("--policy", "open")
        return self.caisson("run", *policy, *arguments, code=code, **options)

    def outcome_of(self, code, *arguments, **options):
        return self.run_code(code, "--json", *arguments, **options).outcome

    def wait_until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.005)
        self.fail(f"waited in vain: {what}")

    def expect_no_child(self):
        """Checks that everything the program started is gone. A killed process may take a moment to
        die."""
        def gone():
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            return False
        self.wait_until(gone, "a process is left behind: " + " ".join(children_of(os.getpid())))


def children_of(pid):
    """Returns the process ids of the children, as text."""
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split() or [
            child for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def cpu_seconds(pid):
    """Returns the CPU time of a process so far."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_package(name):
    """Returns whether engine native has a package: it uses the system's Python, which may differ
    from the one that runs the tests."""
    return pathlib.Path("/usr/lib/python3/dist-packages", name).is_dir()


def is_root():
    return os.geteuid() == 0


def without_signals():
    """For preexec_fn: sets signals as a shell does for a foreground program."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
