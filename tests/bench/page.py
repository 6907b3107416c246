"""Turns measurements into docs/benchmarks.md and docs/benchmarks.svg. Standard library only.

Input: the output of `caisson bench --json`, with the metrics of the peers merged in and a list of
notes. Nothing on the page is typed by hand, so every claim on it was measured."""

import html
import math

MB = 1_000_000


class Bar:
    """One promise: a number computed from the metrics, and its maximum (or minimum)."""

    def __init__(self, what, needs, compute, limit, unit, at_least=False):
        self.what, self.needs, self.compute = what, needs, compute
        self.limit, self.unit, self.at_least = limit, unit, at_least

    def value(self, median):
        return self.compute(*(median[name] for name in self.needs)) if all(n in median for n in self.needs) else None

    def holds(self, value):
        return value >= self.limit if self.at_least else value <= self.limit


def _same(value):
    return value


def _over(value, base):
    return value / base


BARS = [
    Bar("fresh `1+1`, hot", ["wasm.fresh_run_us"], _same, 40, "µs"),
    Bar("the same, times faster than cold `python3 -I -c 'print(1)'`", ["python_cold_us", "wasm.fresh_run_us"],
        lambda cold, fresh: cold / fresh, 200, "×", at_least=True),
    Bar("the same, over `@pydantic/monty` in process, no jail, measured in turns", ["wasm.fresh_over_monty_ratio"],
        lambda ratio: ratio, 4, "×"),
    Bar("fresh runs per second, all cores", ["wasm.runs_per_second"], _same, 20_000, "/s", at_least=True),
    Bar("100 sequential calls of a C++ tool from one run", ["wasm.calls_100_us"], lambda us: us / 1000, 1, "ms"),
    Bar("1,000 gathered calls of a C++ tool", ["wasm.gathered_1000_us"], lambda us: us / 1000, 30, "ms"),
    Bar("checking 200 lines against the policy", ["check_200_lines_us"], lambda us: us / 1000, 2, "ms"),
    Bar("compute against the system's python3, geometric mean of 8 programs", ["wasm.compute_ratio"], _same, 1.8, "×"),
    Bar("1,000 live cells", ["wasm.cell_bytes"], lambda each: each * 1000 / MB, 400, "MB"),
    Bar("1,000 parked cells, resumed in random order", ["wasm.parked_cell_bytes"],
        lambda each: each * 1000 / MB, 500, "MB"),
    Bar("save a trivial parked cell, sealed", ["wasm.save_us"], _same, 200, "µs"),
    Bar("restore it", ["wasm.restore_us"], _same, 200, "µs"),
    Bar("its sealed bytes", ["wasm.blob_bytes"], lambda size: size / 1000, 32, "kB"),
    Bar("a parked run, from a yes to its end, over the store's own writes", ["resume_parked_us", "resume_store_us"],
        lambda all, store: (all - store) / 1000, 1, "ms"),
    Bar("a saved one", ["resume_saved_us", "resume_store_us"], lambda all, store: (all - store) / 1000, 5, "ms"),
    Bar("the store of 10,000 saved runs", ["waiting.store_bytes"], lambda size: size / 2**20, 1024, "MiB"),
    Bar("memory of the server for them, over idle", ["waiting.memory_bytes"], lambda size: size / MB, 64, "MB"),
    Bar("timeout overshoot", ["wasm.timeout_overshoot_us"], lambda us: us / 1000, 5, "ms"),
    Bar("native: fresh `1+1`, request to report", ["native.fresh_run_us"], _same, 120, "µs"),
    Bar("native: the same, times faster than cold `python3 -I -c 'print(1)'`", ["python_cold_us", "native.fresh_run_us"],
        lambda cold, fresh: cold / fresh, 60, "×", at_least=True),
    Bar("native: first call of a run that no cell waited for", ["native.empty_pool_us"], lambda us: us / 1000, 1.5, "ms"),
    Bar("native: fresh runs per second, all cores", ["native.runs_per_second"], _same, 2_000, "/s", at_least=True),
    Bar("native: memory of a waiting cell", ["native.cell_bytes"], lambda size: size / MB, 1, "MB"),
    Bar("native: what a preloaded `import numpy` adds to a run", ["native.numpy_run_us", "native.fresh_run_us"],
        lambda numpy, plain: numpy - plain, 100, "µs"),
    Bar("native: 100 sequential calls of a C++ tool", ["native.calls_100_us"], lambda us: us / 1000, 6, "ms"),
    Bar("native: 1,000 gathered calls", ["native.gathered_1000_us"], lambda us: us / 1000, 30, "ms"),
    Bar("native: kill to outcome, process tree reaped", ["native.kill_us"], lambda us: us / 1000, 1, "ms"),
    Bar("library: `Host::Run`, engine wasm, from the main thread", ["library_run_us", "ping_pong_us"], _over, 0.6, "ping-pongs"),
    Bar("library: the same, engine native, back to back", ["library_native_run_us", "ping_pong_us"], _over, 16, "ping-pongs"),
    Bar("MCP over stdio: `execute_code`", ["mcp_stdio_run_us", "ping_pong_us"], _over, 3, "ping-pongs"),
    Bar("MCP over stdio: the same with numpy, from the second run on", ["mcp_stdio_numpy_us", "ping_pong_us"], _over, 40,
        "ping-pongs"),
    Bar("REST: `POST /v1/runs`, one connection, SQLite", ["rest_run_us", "ping_pong_us"], _over, 3.5, "ping-pongs"),
    Bar("REST: runs per ping-pong time, 64 connections", ["rest_runs_per_second", "ping_pong_us"],
        lambda rate, trip: rate * trip / 1e6, 0.6, "runs", at_least=True),
    Bar("REST: p99 with 64 connections", ["rest_p99_us"], lambda us: us / 1000, 12, "ms"),
    Bar("Responses: request to the first text delta, demo model, SQLite", ["responses_first_delta_us", "ping_pong_us"],
        _over, 12, "ping-pongs"),
    Bar("Responses: a turn with one piece of code, demo model, SQLite", ["agent_turn_us", "ping_pong_us"], _over, 25,
        "ping-pongs"),
    Bar("`caisson run` cold, process start to exit", ["cold_run_us"], lambda us: us / 1000, 40, "ms"),
]

# The bars of the plot, usually fastest to slowest; the second word is the colour.
PLOT = [
    ("monty.fresh_run_us", "peer", "monty, 1+1, in process, no jail"),
    ("wasm.fresh_run_us", "ours", "caisson, fresh 1+1, jailed, on the lane"),
    ("library_run_us", "ours", "caisson, library, from the main thread"),
    ("ping_pong_us", "peer", "a pipe ping-pong that runs nothing"),
    ("mcp_stdio_run_us", "ours", "caisson mcp, execute_code over stdio"),
    ("rest_run_us", "ours", "caisson serve, POST /v1/runs"),
    ("responses_first_delta_us", "ours", "caisson serve, agent, first delta"),
    ("agent_turn_us", "ours", "caisson serve, agent, turn with code"),
    ("wasm.print_run_us", "ours", "caisson, fresh print('hi')"),
    ("wasm.fresh_run_idle1ms_us", "ours", "caisson, fresh 1+1 after 1 ms idle"),
    ("wasm.fresh_run_idle10ms_us", "ours", "caisson, fresh 1+1 after 10 ms idle"),
    ("wasm.save_us", "ours", "caisson, save a parked cell"),
    ("wasm.restore_us", "ours", "caisson, restore it"),
    ("monty.calls_100_us", "peer", "monty, 100 host calls"),
    ("wasm.calls_100_us", "ours", "caisson, 100 host calls"),
    ("native.fresh_run_us", "ours", "caisson native, fresh 1+1, to report"),
    ("native.outcome_us", "ours", "caisson native, to outcome, tree reaped"),
    ("native.empty_pool_us", "ours", "caisson native, no cell waited"),
    ("cold_run_us", "ours", "caisson run, cold process"),
    ("python_cold_us", "peer", "python3 -I -c 'print(1)', cold process"),
]


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def shown(name, value):
    if name.endswith("_us"):
        return f"{number(value)} µs" if value < 1000 else f"{number(value / 1000)} ms"
    if name.endswith("_bytes"):
        return f"{number(value / 1000)} kB"
    if name.endswith("_per_second"):
        return f"{number(value)} /s"
    return f"{value:.2f} ×"


def bars_table(metrics):
    median = {name: metric["median"] for name, metric in metrics.items()}
    lines = ["| what | bar | measured | |", "|---|---|---|---|"]
    for bar in BARS:
        value = bar.value(median)
        limit = f"{'≥' if bar.at_least else '≤'} {number(bar.limit)} {bar.unit}"
        if value is None:
            lines.append(f"| {bar.what} | {limit} | not measured | – |")
        else:
            verdict = "pass" if bar.holds(value) else "**fail**"
            lines.append(f"| {bar.what} | {limit} | {number(value)} {bar.unit} | {verdict} |")
    return lines


def metrics_table(metrics):
    lines = ["| metric | median | p99 | n |", "|---|---:|---:|---:|"]
    for name, metric in metrics.items():
        lines.append(f"| `{name}` | {shown(name, metric['median'])} | {shown(name, metric['p99'])} | {metric['n']:,} |")
    return lines


def micro_table(micro):
    lines = ["| part | time per operation |", "|---|---:|"]
    return lines + [f"| `{name}` | {number(nanoseconds)} ns |" for name, nanoseconds in micro.items()]


def page(results):
    machine, metrics = results["machine"], results["metrics"]
    memory = machine["memory_bytes"] / 2**30
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench` (`tests/bench`); do not edit. Everything comes from one run on one machine, through",
        f"jailed workers of the tier `{machine['tier']}` with every check on. Medians unless it says otherwise.",
        "",
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {memory:.0f} GiB, Linux {machine['kernel']},",
        f"Python {machine['python'] or '(none)'}, Caisson {machine['caisson']}.",
        "",
        "## Promises",
        "",
        *bars_table(metrics),
        "",
        "![Latencies on a logarithmic scale](benchmarks.svg)",
        "",
        "## All measurements",
        "",
        "`caisson bench` prints the same without the peers. `wasm.reset_us` makes a cell's memory the snapshot",
        "again after a small run. `*_cell_bytes` are means over all cells, page tables and the host's",
        "share included; the mapped snapshot is in memory once and not counted. `native.fresh_run_us` ends with the code's",
        "report, `native.outcome_us` when its process tree is dead and reaped; `native.cell_bytes` is the proportional share.",
        "`wasm.fresh_over_monty_ratio` is the median of rounds in which both are measured one after the other.",
        "`ping_pong_us` is a byte there and a byte back between two processes over blocking pipes, in the same minute as",
        "the doors: they are measured from outside, where users stand, and bars that name ping-pongs are ratios to it.",
        "`rest_healthz_us` is a request that runs nothing.",
        "",
        *metrics_table(metrics),
    ]
    if results.get("micro"):
        lines += ["", "## Parts", "", *micro_table(results["micro"])]
    notes = [f"`{name}` was left out: {why}." for name, why in results.get("skipped", {}).items()]
    notes += results.get("notes", [])
    if notes:
        lines += ["", "## Left out", "", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"


STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f } .axis { fill: #57606a; font-size: 11px }
  line { stroke: #d0d7de } .ours { fill: #0969da } .peer { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .axis { fill: #8d96a0 } line { stroke: #30363d }
    .ours { fill: #4493f8 } .peer { fill: #6e7681 }
  }"""


def plot(results):
    """Horizontal bars on a logarithmic axis of microseconds."""
    metrics = results["metrics"]
    rows = [(label, kind, metrics[name]["median"]) for name, kind, label in PLOT if name in metrics]
    left, width, row, top = 270, 460, 26, 12
    low = math.floor(math.log10(min(value for *_, value in rows)))
    high = math.ceil(math.log10(max(value for *_, value in rows)))
    bottom = top + row * len(rows)

    def x(value):
        return left + width * (math.log10(value) - low) / max(1, high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" height="{bottom + 30}" role="img">',
           "<title>Median latencies in microseconds, logarithmic scale</title>", f"<style>{STYLE}\n</style>"]
    for power in range(low, high + 1):
        at = x(10**power)
        out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>')
        tick = shown("_us", 10**power)
        out.append(f'<text class="axis" x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{tick}</text>')
    for index, (label, kind, value) in enumerate(rows):
        y, end = top + row * index, max(x(value), left + 2)
        out.append(f'<text x="{left - 8}" y="{y + 17}" text-anchor="end">{html.escape(label)}</text>')
        out.append(f'<rect class="{kind}" x="{left}" y="{y + 4}" width="{end - left:.1f}" height="{row - 8}" rx="3"/>')
        out.append(f'<text x="{end + 6:.1f}" y="{y + 17}">{shown("_us", value)}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"
