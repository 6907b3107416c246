"""Compares `caisson bench` in a container with the plain machine, and fails if the container costs too much.

    speed.py --programs BUILD --source SOURCE [--root ROOT] [--rounds 3] [--quick] [--write PAGE]

ROOT is a root file system of Debian 12 (make_root.sh); without it, the container gets this machine's own. The container has
Docker's default profile and user 1000, so tier landlock; the plain machine has tier namespace. Rounds alternate between
both, because other work on the machine changes with time, and the medians over the rounds are compared. Run it on a machine
that does nothing else. --write puts the table into docs/guides/containers.md, between the two lines that name this program.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import container

SKIPPED = 77
# Metric, and how many times as slow the container may be.
BARS = {
    "wasm.fresh_run_us": 1.2, "wasm.print_run_us": 1.2, "wasm.calls_100_us": 1.2, "wasm.runs_per_second": 1.2,
    "native.fresh_run_us": 1.5, "native.outcome_us": 1.5, "native.calls_100_us": 1.5, "native.numpy_run_us": 1.5,
    "native.runs_per_second": 1.5, "native.kill_us": 1.5,
}
BEGIN, END = "<!-- Written by tests/containers/speed.py --write. -->", "<!-- End of what speed.py writes. -->"


def times_as_slow(name, plain, contained):
    return plain / contained if name.endswith("_per_second") else contained / plain


def medians(text):
    return {name: metric["median"] for name, metric in json.loads(text)["metrics"].items()}


def page(text, machine, rows):
    """The text of a page with the table between BEGIN and END."""
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    table = [f"Medians on {machine['cores']} cores ({machine['cpu']}), Linux {machine['kernel']}:", "",
             "| `caisson bench` | plain | container | times as slow | limit |", "|---|---|---|---|---|"]
    table += [f"| `{name}` | {here:,.1f} | {there:,.1f} | {ratio:.2f} | {bar} |" for name, here, there, ratio, bar in rows]
    return f"{head}{BEGIN}\n" + "\n".join(table) + f"\n\n{END}{tail}"


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "source", "root"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=name != "root")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="fewer samples, as in caisson bench --quick")
    parser.add_argument("--write", type=pathlib.Path, help="the page to write the table into")
    options = parser.parse_args()
    reason = container.why_not()
    if reason:
        print("SKIPPED: " + reason)
        return SKIPPED
    bench = [str(options.programs.resolve() / "caisson"), "bench", "--json", *(["--quick"] if options.quick else [])]
    source = options.source.resolve()
    started = container.Container(options.root and options.root.resolve(), container.DOCKER, 1000, {source: str(source)})

    plain, contained = [], []
    for _ in range(options.rounds):
        for engine in ("wasm", "native"):
            done = subprocess.run([*bench, "--only", engine], capture_output=True, check=True, timeout=300)
            plain.append(medians(done.stdout))
            machine = json.loads(done.stdout)["machine"]
            done = started.run([*bench, "--only", engine, "--tier", "landlock"], timeout=300)
            if done.returncode != 0:
                print(done.stderr.decode(errors="replace"))
                return 1
            contained.append(medians(done.stdout))

    failed, rows = False, []
    for name, bar in BARS.items():
        here, there = (statistics.median(r[name] for r in rounds if name in r) for rounds in (plain, contained))
        ratio = times_as_slow(name, here, there)
        failed |= ratio > bar
        rows.append((name, here, there, ratio, bar))
        print(f"{name:26} plain {here:10.1f}  container {there:10.1f}  {ratio:5.2f} times as slow, limit {bar}"
              f"{'   TOO SLOW' if ratio > bar else ''}")
    if options.write:
        options.write.write_text(page(options.write.read_text(), machine, rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
