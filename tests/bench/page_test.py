"""Checks that the page shows the measurements and marks missed bars as failures."""

import unittest
import xml.etree.ElementTree

import page


def results(**medians):
    metrics = {name.replace("__", "."): {"median": value, "p99": value * 2, "n": 10} for name, value in medians.items()}
    machine = {"cpu": "CPU", "cores": 2, "memory_bytes": 2**33, "kernel": "6.1", "python": "3.11.2", "caisson": "0.1.0",
               "tier": "namespace"}
    return {"machine": machine, "metrics": metrics}


class PageTest(unittest.TestCase):
    def row(self, results, what):
        return next(line for line in page.bars_table(results["metrics"]) if what in line)

    def test_a_number_at_its_bar_passes_and_one_beyond_fails(self):
        self.assertIn("| pass |", self.row(results(wasm__fresh_run_us=40), "hot"))
        self.assertIn("**fail**", self.row(results(wasm__fresh_run_us=40.1), "hot"))

    def test_a_rate_must_reach_its_bar(self):
        self.assertIn("**fail**", self.row(results(wasm__runs_per_second=19_999), "per second"))
        self.assertIn("| pass |", self.row(results(wasm__runs_per_second=20_000), "per second"))

    def test_ratios_need_both_sides(self):
        self.assertIn("not measured", self.row(results(wasm__fresh_run_us=30), "| the same, times faster"))
        both = results(wasm__fresh_run_us=30, python_cold_us=9000)
        self.assertIn("| 300 × | pass |", self.row(both, "| the same, times faster"))

    def test_the_ratio_to_monty_is_the_one_of_the_rounds(self):
        both = results(wasm__fresh_run_us=50, monty__fresh_run_us=10, wasm__fresh_over_monty_ratio=3)
        self.assertIn("| 3 × | pass |", self.row(both, "monty"))

    def test_the_page_names_the_machine_and_what_was_left_out(self):
        made = results(wasm__fresh_run_us=30) | {"skipped": {"python_cold_us": "there is no python3"}}
        text = page.page(made)
        self.assertIn("CPU, 2 cores, 8 GiB", text)
        self.assertIn("`python_cold_us` was left out: there is no python3.", text)

    def test_the_plot_is_well_formed_and_has_a_bar_for_each_latency(self):
        svg = xml.etree.ElementTree.fromstring(page.plot(results(wasm__fresh_run_us=30, python_cold_us=12_000)))
        self.assertEqual(len(svg.findall("{http://www.w3.org/2000/svg}rect")), 2)


if __name__ == "__main__":
    unittest.main()
