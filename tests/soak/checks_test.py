"""Tests that the checks of the soak find what they are for."""

import json
import unittest

import soak


class Crowd:
    def __init__(self, **runs):
        self.runs = runs


def completed(*said):
    return {"status": "completed", "result": list(said)}


def lines(*effects):
    return [json.dumps({"id": effect}) for effect in effects]


class Checks(unittest.TestCase):
    def wrong(self, crowd, *effects):
        return soak.check_effects([crowd], lines(*effects))[0]

    def test_calls_that_returned_and_happened_once_are_right(self):
        self.assertEqual(self.wrong(Crowd(k=completed(1, 1, 1)), "k-a", "k-b", "k-c"), [])

    def test_an_effect_that_happened_twice_is_found(self):
        self.assertTrue(self.wrong(Crowd(k=completed(1, 1, 1)), "k-a", "k-b", "k-b", "k-c"))

    def test_an_uncertain_effect_may_have_happened_once_but_not_twice(self):
        crowd = Crowd(k=completed(1, "UncertainError", 1))
        self.assertEqual(self.wrong(crowd, "k-a", "k-c"), [])
        self.assertEqual(self.wrong(crowd, "k-a", "k-b", "k-c"), [])
        self.assertTrue(self.wrong(crowd, "k-a", "k-b", "k-b", "k-c"))

    def test_a_call_that_returned_without_its_effect_is_found(self):
        self.assertTrue(self.wrong(Crowd(k=completed(1, 1, 1)), "k-a", "k-c"))

    def test_a_run_that_is_open_or_failed_is_found(self):
        self.assertTrue(self.wrong(Crowd(k=None)))
        self.assertTrue(self.wrong(Crowd(k={"status": "failed"})))

    def test_growing_memory_is_found_and_flat_memory_is_not(self):
        self.assertEqual(soak.check_memory([100 << 20] * 40)[1], [])
        self.assertTrue(soak.check_memory([(100 + 50 * second) << 20 for second in range(40)])[1])
        self.assertTrue(soak.check_memory([(100 + second // 5) << 20 for second in range(1200)])[1])

    def test_too_few_samples_are_not_taken_for_flat_memory(self):
        self.assertTrue(soak.check_memory([1] * 3)[1])


if __name__ == "__main__":
    unittest.main()
