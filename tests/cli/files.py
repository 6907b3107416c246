"""Captured files: listed, in the outcome, and saved where --output says and nowhere else."""

import __main__
import base64
import hashlib

import harness

WRITES = "import os\nopen('/output/a.csv', 'w').write('1,2\\n')\nos.makedirs('/output/d/e')\n" \
         "open('/output/d/e/b.bin', 'wb').write(bytes(range(256)))\nopen('/tmp/scratch', 'w').write('x')\nNone\n"


class Files(harness.CliTest):
    def test_files_are_listed(self):
        done = self.run_code(WRITES)
        self.assertEqual((done.status, done.out), (0, b""), done)
        self.assertIn(b"/output/a.csv created 4 bytes\n", done.err)
        self.assertIn(b"/output/d/e/b.bin created 256 bytes\n", done.err)
        self.assertNotIn(b"scratch", done.err)

    def test_the_outcome_has_their_data_when_asked_for(self):
        first = self.outcome_of(WRITES)["files"][0]
        self.assertEqual((first["path"], first["change"], first["size"], first["media_type"]),
                         ("/output/a.csv", "created", 4, "text/csv"))
        self.assertEqual(first["sha256"], hashlib.sha256(b"1,2\n").hexdigest())
        self.assertNotIn("data", first)
        first = self.outcome_of(WRITES, "--file-data")["files"][0]
        self.assertEqual(base64.b64decode(first["data"]), b"1,2\n")

    def test_they_are_saved(self):
        self.kept |= {"new", "new/results", "new/results/a.csv", "new/results/d", "new/results/d/e",
                      "new/results/d/e/b.bin"}
        for _ in range(2):  # A second run replaces the first one's files.
            done = self.run_code(WRITES, "--output", "new/results")
            self.assertEqual(done.status, 0, done)
            self.assertEqual((self.work / "new/results/a.csv").read_bytes(), b"1,2\n")
            self.assertEqual((self.work / "new/results/d/e/b.bin").read_bytes(), bytes(range(256)))
        self.assertEqual({p.relative_to(self.work).as_posix() for p in self.work.rglob("*")}, self.kept)

    def test_links_in_the_directory_lead_nowhere(self):
        outside = self.top / "outside"
        outside.mkdir()
        (outside / "a.csv").write_text("untouched")
        (self.work / "results").mkdir()
        (self.work / "results/a.csv").symlink_to(outside / "a.csv")
        (self.work / "results/d").symlink_to(outside)
        self.kept |= {"results", "results/a.csv", "results/d"}
        done = self.run_code(WRITES, "--output", "results")
        self.assertEqual(done.status, 2, done)
        self.assertIn(b"cannot save /output/d/e/b.bin", done.err)
        self.assertEqual([p.name for p in outside.rglob("*")], ["a.csv"])
        self.assertEqual((outside / "a.csv").read_text(), "untouched")
        self.assertEqual((self.work / "results/a.csv").read_text(), "1,2\n")
        self.assertFalse((self.work / "results/a.csv").is_symlink())

    def test_a_directory_that_cannot_be_used_is_told_before_anything_runs(self):
        self.put("file", "x")
        done = self.run_code("print('ran')", "--output", "file")
        self.assertEqual((done.status, done.out), (2, b""), done)
        self.assertIn(b"file", done.err)

    def test_a_file_that_is_too_large_is_listed_as_left_out(self):
        code = "open('/output/big', 'w').write('x' * 3000)\nopen('/output/small', 'w').write('y')"
        files = {f["path"]: f for f in self.outcome_of(code, "--limit", "file_bytes=1000")["files"]}
        self.assertTrue(files["/output/big"].get("omitted"))
        self.assertFalse(files["/output/small"].get("omitted"))

    def test_files_of_a_failed_run_are_kept(self):
        self.kept |= {"results", "results/a.csv", "results/d", "results/d/e", "results/d/e/b.bin"}
        done = self.run_code(WRITES + "raise ValueError(1)", "--output", "results")
        self.assertEqual(done.status, 1, done)
        self.assertEqual((self.work / "results/a.csv").read_bytes(), b"1,2\n")


if __name__ == "__main__":
    harness.run_suite(__main__)
