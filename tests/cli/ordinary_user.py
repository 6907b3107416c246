"""The same without privileges. As root, this runs the program as nobody; otherwise every suite
already does so."""

import __main__

import harness
from harness import tier


class OrdinaryUser(harness.CliTest):
    def as_nobody(self, code, *arguments):
        return self.run_code(code, *arguments, user=harness.NOBODY)

    def test_a_run(self):
        done = self.as_nobody('print("hi"); 6*7')
        self.assertEqual((done.status, done.out, done.err), (0, b"hi\n42\n", b""), done)

    def test_the_default_boundary_is_the_same(self):
        outcome = self.as_nobody("1", "--json").outcome
        self.assertEqual(outcome["boundary"]["tier"], tier.NAME)

    def test_a_limit(self):
        done = self.as_nobody("while True: pass", "--limit", "wall_seconds=0.2")
        self.assertEqual(done.status, 1, done)
        self.assertIn(b"wall_time", done.err)

    def test_doctor(self):
        self.assertEqual(self.caisson("doctor", user=harness.NOBODY).status, 1 if tier.REFUSED else 0)


if __name__ == "__main__":
    if not harness.is_root():
        harness.skip_suite("not root: every suite runs as an ordinary user already")
    harness.run_suite(__main__)
