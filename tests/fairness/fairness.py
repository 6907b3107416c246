"""Whatever one user does, another user's `1+1` over REST takes less than 20 ms in 99 of 100 cases.

    fairness.py PROGRAM ENGINE [HOG...]

Needs a quiet machine with two cores or more. The client that measures asks for a higher priority, as if it were on another
machine. The result is a table, also if the test fails. `nobody` is the same client without a hog, before and after the
others: what the machine itself takes.

A hog is measured in a pass of 300 requests. If the 99th percentile of the pass is too long, two more passes are made, each
with a fresh server, and the median of the three counts.
"""

import contextlib
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import hogs
import own_group

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tier  # noqa: E402

ANN, EVE = "the-key-of-ann-0123456789", "the-key-of-eve-0123456789"
MOST_SECONDS = 0.020 * float(os.environ.get("CAISSON_TEST_SLOWDOWN", 1))
SAMPLES = 300
PAUSE = 0.005
WARM_UP = 30
SKIPPED = 77
CONFIG = """
[store]
url = "memory:"
[engine]
default = "{engine}"
[limits]
stdout_bytes = 4194304
result_bytes = 4194304
[policy]
preset = "open"
[identity]
mode = "keys"
[[identity.key]]
tenant = "acme"
user = "ann"
value_file = "ann.key"
[[identity.key]]
tenant = "acme"
user = "eve"
value_file = "eve.key"
[[tool]]
name = "echo"
kind = "command"
command = ["/bin/cat"]
approval = "never"
input_schema = {{ type = "object", properties = {{ x = {{}} }} }}
[[tool]]
name = "count"
kind = "command"
command = ["/usr/bin/wc", "-c"]
approval = "never"
input_schema = {{ type = "object", properties = {{ x = {{}} }} }}
[[tool]]
name = "large"
kind = "command"
command = ["/usr/bin/head", "-c", "1000000", "/dev/zero"]
approval = "never"
input_schema = {{ type = "object" }}
"""


USUAL_NICENESS = os.getpriority(os.PRIO_PROCESS, 0)


def be_as_nice_as(niceness):
    os.setpriority(os.PRIO_PROCESS, 0, niceness)


class Server:
    def __init__(self, program, engine, directory):
        for name, key in (("ann.key", ANN), ("eve.key", EVE)):
            pathlib.Path(directory, name).write_text(key)
        pathlib.Path(directory, "caisson.toml").write_text(CONFIG.format(engine=engine))
        self.process = subprocess.Popen([program, "serve", "--config", "caisson.toml", "--listen", "127.0.0.1:0"],
                                        cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        start_new_session=True,
                                        preexec_fn=lambda: be_as_nice_as(USUAL_NICENESS))
        self.port = int(self.process.stdout.readline().rsplit(b":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Probe:
    """Another user, who runs `1+1` and looks at the clock."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self):
        body = json.dumps({"code": "1+1"})
        begun = time.perf_counter()
        self.connection.request("POST", "/v1/runs", body, {"Authorization": "Bearer " + ANN,
                                                           "Content-Type": "application/json"})
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        taken = time.perf_counter() - begun
        if response.status != 200 or answer["outcome"]["result"] != 2:
            raise RuntimeError(f"{response.status} {answer}")
        return taken

    def measure(self):
        for _ in range(WARM_UP):
            self.ask()
        times = []
        for _ in range(SAMPLES):
            times.append(self.ask())
            time.sleep(PAUSE)
        times.sort()
        return {"median": statistics.median(times), "p99": times[len(times) * 99 // 100], "max": times[-1]}


def measure_beside(program, engine, hog):
    """A server of its own for each hog: nothing is left over from the one before."""
    with tempfile.TemporaryDirectory(prefix="caisson-fairness-") as directory, Server(program, engine, directory) as server:
        if hog == "nobody":
            return Probe(server.port).measure()
        script = str(pathlib.Path(__file__).with_name("hogs.py"))
        begun = subprocess.Popen([sys.executable, script, str(server.port), EVE, engine, hog],
                                 stdout=subprocess.PIPE, start_new_session=True,
                                 preexec_fn=lambda: be_as_nice_as(USUAL_NICENESS + 5))
        try:
            begun.stdout.readline()
            found = Probe(server.port).measure()
            if begun.poll() is not None:
                raise RuntimeError("the hog gave up")
            return found
        finally:
            begun.kill()
            begun.wait()
            begun.stdout.close()


def p99_of(passes):
    return statistics.median(each["p99"] for each in passes)


def judge(program, engine, hog):
    """Prints a line, and returns whether other users were served in time."""
    passes = [measure_beside(program, engine, hog)]
    if passes[0]["p99"] >= MOST_SECONDS:
        passes += [measure_beside(program, engine, hog) for _ in range(2)]
    in_time = p99_of(passes) < MOST_SECONDS
    median = statistics.median(each["median"] for each in passes)
    longest = max(each["max"] for each in passes)
    note = "" if len(passes) == 1 else "   passes: " + ", ".join(f"{each['p99'] * 1e3:.2f}" for each in passes)
    print(f"{hog:<16} {median * 1e3:>10.2f} {p99_of(passes) * 1e3:>10.2f} {longest * 1e3:>10.2f}"
          + ("" if in_time else "   too late") + note, flush=True)
    return in_time


def divides_by_session():
    with contextlib.suppress(OSError):
        return pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled").read_text().strip() == "1"
    return False


def main():
    program, engine, *chosen = sys.argv[1:]
    program = tier.program(program)
    try:
        be_as_nice_as(USUAL_NICENESS - 10)
    except PermissionError:
        print("this user may not ask for a higher priority: the figures include the client's own waiting")
    late = []
    with own_group.entered() as alone:
        if not alone and divides_by_session():
            print("skipped: no control group can be made (needs root and the controller `cpu`), and outside of one this "
                  "kernel divides the processors between sessions (kernel.sched_autogroup_enabled = 1)")
            return SKIPPED
        print(f"{'hog':<16} {'median':>10} {'p99':>10} {'max':>10}   engine {engine}, in ms", flush=True)
        for hog in chosen or ("nobody", *hogs.NAMES, "nobody"):
            try:
                in_time = judge(program, engine, hog)
            except Exception as error:
                print(f"{hog:<16} failed: {error!r}", flush=True)
                in_time = False
            if not in_time:
                late.append(hog)
    if "nobody" in late:
        sys.exit("the machine is too busy to measure: without a hog, too, a request takes too long")
    if late:
        sys.exit(f"p99 above {MOST_SECONDS * 1e3:.0f} ms beside: {', '.join(late)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
