#!/usr/bin/env python3
"""Tests that tools/check_texts.py finds broken links, long READMEs and long comment lines."""
import importlib.util
import pathlib
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("check_texts.py")
spec = importlib.util.spec_from_file_location("check_texts", SCRIPT)
check_texts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_texts)


class CheckTextsTest(unittest.TestCase):
    def problems(self, files):
        """What the check reports about a repository with these files."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_texts.check(root, files)

    def test_a_link_to_a_missing_file_is_found(self):
        found = self.problems({"docs/a.md": "see [b](b.md) and [c](../c.md)\n", "c.md": "# C\n"})
        self.assertEqual(found, ["docs/a.md: the link b.md leads nowhere"])

    def test_a_link_to_a_missing_heading_is_found(self):
        found = self.problems({"a.md": "# Tier `landlock`\n[x](#tier-landlock) [y](b.md#none)\n", "b.md": "# B\n"})
        self.assertEqual(found, ["a.md: b.md has no heading #none"])

    def test_addresses_and_code_are_not_links(self):
        text = "[x](https://example.com/y) `[a](b)`\n```\n[c](d)\n```\n"
        self.assertEqual(self.problems({"a.md": text}), [])

    def test_a_long_readme_below_src_is_found(self):
        files = {"src/x/README.md": "line\n" * 16, "tests/README.md": "line\n" * 16}
        self.assertEqual(self.problems(files), ["src/x/README.md: it has 16 lines; at most 15"])

    def test_a_long_comment_line_is_found(self):
        long = "x" * 100
        found = self.problems({
            "src/a.h": f"// {long}\n", "src/b.cc": f"int x;  // {long}\n", "src/c.py": f"# {long}\n",
            "Makefile": f"# {long}\n", "tests/CMakeLists.txt": f"  # {long}\n", "tools/run": f"#!/bin/sh\n# {long}\n"})
        self.assertEqual(sorted(problem.split(": ")[0] for problem in found),
                         ["Makefile:1", "src/a.h:1", "src/b.cc:1", "src/c.py:1", "tests/CMakeLists.txt:1", "tools/run:2"])

    def test_columns_are_characters_and_long_code_is_left_to_the_formatter(self):
        files = {"src/a.h": "// " + "…" * 97 + "\n", "src/b.cc": 'auto url = "https://' + "x" * 100 + '";\n'}
        self.assertEqual(self.problems(files), [])


if __name__ == "__main__":
    unittest.main()
