"""What the suites of workflows share."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import harness  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Flows(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.kept |= {"flow.db", "flow.db-shm", "flow.db-wal", "flow.db.keys"}

    def workflow(self, *arguments, status=0):
        """The JSON that a command printed."""
        done = self.caisson("workflow", *arguments, "--config", "caisson.toml", "--json")
        self.assertEqual(done.status, status, done)
        return done.outcome

    def run_flow(self, *arguments, **options):
        return self.workflow("run", "flow.toml", *arguments, **options)

    def resume(self, view, *arguments, **options):
        return self.workflow("resume", "flow.toml", view["instance"], *arguments, **options)

    @staticmethod
    def answer(view, value):
        return f"--answer={view['requests'][0]['id']}={json.dumps(value)}"
