"""Checks the Kubernetes manifests and the compose file against public schemas from npm, and that the check finds mistakes.

    manifests.py BUILD SOURCE [unittest options]
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))
import npm  # noqa: E402

KINDS = {"ConfigMap", "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy", "HorizontalPodAutoscaler"}


class Manifests(unittest.TestCase):
    def check(self, change=("", ""), compose_change=("", "")):
        """Checks the manifests, each with one text replaced. Returns the exit status and what was printed."""
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name, (old, new) in (("kubernetes/caisson.yaml", change), ("compose.yaml", compose_change)):
                text = (SOURCE / "packaging" / name).read_text()
                self.assertIn(old, text)
                files.append(pathlib.Path(folder) / pathlib.Path(name).name)
                files[-1].write_text(text.replace(old, new) if old else text)
            done = subprocess.run([PACKAGES.node, HERE / "manifests.mjs", PACKAGES.modules, *files, folder],
                                  env=PACKAGES.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return done.returncode, done.stdout

    def test_all_kinds_are_valid(self):
        status, said = self.check()
        self.assertEqual(status, 0, said)
        self.assertLessEqual(KINDS, set(said.split()))

    def test_an_unknown_field_is_found(self):
        status, said = self.check(change=("readOnlyRootFilesystem", "readOnlyRootFileSystem"))
        self.assertEqual(status, 1, said)
        self.assertIn("readOnlyRootFileSystem", said)

    def test_a_value_of_the_wrong_type_is_found(self):
        status, said = self.check(change=("replicas: 2", 'replicas: "2"'))
        self.assertEqual(status, 1, said)
        self.assertIn("replicas", said)

    def test_an_unknown_field_of_the_compose_file_is_found(self):
        status, said = self.check(compose_change=("cap_drop", "cap_dropped"))
        self.assertEqual(status, 1, said)
        self.assertIn("compose", said)


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv[2]).resolve()
    PACKAGES = npm.Packages(sys.argv[1])
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[3:]])
