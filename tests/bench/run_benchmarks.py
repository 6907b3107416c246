#!/usr/bin/env python3
"""Measures Caisson and its peers in one run and writes docs/benchmarks.md and docs/benchmarks.svg.

run_benchmarks.py --program build/release/caisson --work build/bench --docs docs [--micro PROGRAM] [--quick]
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import page
import waiting_runs

HERE = pathlib.Path(__file__).resolve().parent
MONTY = "@pydantic/monty@0.0.18"  # The newest whose binary loads with Debian 12's C library.


def say(text):
    print(f"== {text}", flush=True)


ROUNDS = 9


def measure_caisson(program, *options):
    command = [program, "bench", "--json", *options]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def install_monty(work):
    """Returns (modules, note): the note says why there are none."""
    if not (shutil.which("npm") and shutil.which("node")):
        return None, "`@pydantic/monty`: there is no npm here."
    modules = work / "node_modules"
    if not (modules / "@pydantic/monty").is_dir():
        install = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(work), MONTY]
        if subprocess.run(install).returncode != 0:
            return None, f"`@pydantic/monty`: npm could not install {MONTY}."
    return modules, None


def compare_with_monty(program, modules, runs, rounds):
    """Returns (metrics, note). Measures in turns, because the speed of a machine varies: each round
    gives one ratio."""
    theirs, ratios = [], []
    for _ in range(rounds):
        command = ["node", str(HERE / "peers/monty.mjs"), str(modules), str(runs)]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            return {}, "`@pydantic/monty`: it does not load here."
        theirs.append(json.loads(ran.stdout))
        ours = measure_caisson(program, "--only", "wasm.fresh_run_us")["metrics"]["wasm.fresh_run_us"]
        ratios.append(ours["median"] / theirs[-1]["monty.fresh_run_us"]["median"])
    theirs.sort(key=lambda metrics: metrics["monty.fresh_run_us"]["median"])
    ratio = {"median": statistics.median(ratios), "p99": max(ratios), "n": rounds}
    return theirs[rounds // 2] | {"wasm.fresh_over_monty_ratio": ratio}, None


def measure_parts(program, quick):
    """Nanoseconds of each micro-benchmark."""
    command = [program, "--benchmark_format=json", f"--benchmark_min_time={0.02 if quick else 0.5}"]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    return {one["name"]: one["cpu_time"] * scale[one["time_unit"]] for one in json.loads(ran.stdout)["benchmarks"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where peers are installed and results kept")
    parser.add_argument("--docs", type=pathlib.Path, required=True, help="where the page goes")
    parser.add_argument("--micro", help="the micro-benchmarks' program")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    args.docs.mkdir(parents=True, exist_ok=True)

    say("caisson bench")
    results = measure_caisson(args.program, *(["--quick"] if args.quick else []))
    say("@pydantic/monty and caisson, in turns")
    metrics, (modules, note) = {}, install_monty(args.work)
    if modules:
        metrics, note = compare_with_monty(args.program, modules, *((500, 3) if args.quick else (5000, ROUNDS)))
    results["metrics"] |= metrics
    results["notes"] = [note] if note else []
    if not args.quick:
        say("10,000 waiting runs")
        results["metrics"] |= waiting_runs.measure(os.path.abspath(args.program), 10_000)
    if args.micro:
        say("micro-benchmarks")
        results["micro"] = measure_parts(args.micro, args.quick)

    (args.work / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (args.docs / "benchmarks.md").write_text(page.page(results))
    (args.docs / "benchmarks.svg").write_text(page.plot(results))
    print("\n".join(page.bars_table(results["metrics"])))
    say(f"wrote {args.docs / 'benchmarks.md'} and {args.docs / 'benchmarks.svg'}")


if __name__ == "__main__":
    sys.exit(main())
