"""Checks the JSON of `caisson bench`, which others rely on, and that its numbers are plausible.

bench_command.py PROGRAM"""

import json
import subprocess
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tier  # noqa: E402

NAMES = """wasm.fresh_run_us wasm.fresh_run_idle10ms_us wasm.runs_per_second wasm.calls_100_us wasm.compute_ratio
    wasm.cell_bytes wasm.parked_cell_bytes wasm.save_us wasm.restore_us wasm.blob_bytes wasm.reset_us
    wasm.timeout_overshoot_us native.fresh_run_us native.outcome_us native.runs_per_second native.calls_100_us
    native.cell_bytes native.kill_us native.empty_pool_us native.numpy_run_us native.mounted_run_us
    native.mounted_rw_run_us native.processes_run_us wasm.mounted_run_us cold_run_us python_cold_us
    ping_pong_us library_run_us library_native_run_us mcp_stdio_run_us mcp_stdio_numpy_us rest_healthz_us rest_run_us
    rest_runs_per_second rest_p99_us responses_first_delta_us agent_turn_us""".split()


class BenchCommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ran = subprocess.run([PROGRAM, "bench", "--json", "--quick"], capture_output=True, text=True, timeout=280)
        cls.report = json.loads(cls.ran.stdout)

    def test_it_succeeds_and_shows_no_progress_to_a_pipe(self):
        self.assertEqual((self.ran.returncode, tier.without_note(self.ran.stderr.encode())), (0, b""))

    def test_every_metric_is_there(self):
        found = set(self.report["metrics"]) | set(self.report.get("skipped", {}))
        self.assertEqual(set(NAMES) - found, set())

    def test_each_has_a_median_that_its_p99_is_not_below(self):
        for name, metric in self.report["metrics"].items():
            with self.subTest(name):
                self.assertGreater(metric["n"], 0)
                self.assertLessEqual(metric["median"], metric["p99"])
                self.assertGreater(metric["p99"], 0)

    def test_the_machine_is_described(self):
        self.assertGreaterEqual(self.report["machine"]["cores"], 1)
        self.assertEqual(self.report["machine"]["tier"], tier.NAME)

    def test_tier_landlock_is_measured_and_names_what_it_leaves_out(self):
        ran = subprocess.run([PROGRAM, "bench", "--json", "--quick", "--tier", "landlock", "--only", "native"],
                             capture_output=True, text=True, timeout=280)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        report = json.loads(ran.stdout)
        native = {name for name in NAMES if name.startswith("native.")}
        left_out = {"native.cell_bytes", "native.mounted_rw_run_us", "native.processes_run_us"}
        self.assertLessEqual(native - left_out - {"native.numpy_run_us"}, set(report["metrics"]))
        self.assertLessEqual(left_out, set(report["skipped"]))

    def test_one_metric_alone_can_be_measured(self):
        ran = subprocess.run([PROGRAM, "bench", "--json", "--quick", "--only", "wasm.reset"], capture_output=True, text=True,
                             timeout=60)
        self.assertEqual(list(json.loads(ran.stdout)["metrics"]), ["wasm.reset_us"])

    def test_a_name_that_no_metric_has_is_a_usage_error(self):
        ran = subprocess.run([PROGRAM, "bench", "--only", "nonsense"], capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("nonsense", ran.stderr)

    def test_an_unknown_tier_is_a_usage_error(self):
        ran = subprocess.run([PROGRAM, "bench", "--tier", "nonsense"], capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("nonsense", ran.stderr)


if __name__ == "__main__":
    PROGRAM = tier.program(sys.argv.pop())
    unittest.main(verbosity=2)
