"""caisson workflow: the example and the guide do what they show; instances belong to one owner."""

import __main__
import json
import re
import shutil
import subprocess

import flows
from flows import harness

STORE = '[store]\nurl = "sqlite:flow.db"\n'
# A tool that needs an approval. Each call writes a line.
GATED = """
[[tool]]
name = "note"
kind = "command"
command = ["./note.sh"]
approval = "always"
input_schema = { type = "object", properties = { text = { type = "string" } }, required = ["text"] }
"""
ASK = """
name = "flow"
start = "ask"
[[executor]]
id = "ask"
kind = "request"
prompt = "Which?"
output = "string"
[[executor]]
id = "end"
kind = "code"
code = '''
import json
with open("/input/inputs.json") as file:
    json.load(file)
'''
[[edge]]
from = "ask"
to = "end"
"""


class Program(flows.Flows):
    def example(self):
        """Copies the example; its file names are kept."""
        for path in (flows.ROOT / "examples/workflow").iterdir():
            shutil.copy(path, self.work / path.name)
            self.kept.add(path.name)
        self.kept |= {"sent", "report.db", "report.db-shm", "report.db-wal", "report.db.keys"}

    def test_the_example_sends_what_a_person_approved(self):
        self.example()
        view = self.workflow("run", "report.toml", "--input", "[120, 99]", status=3)
        self.assertEqual(view["requests"][0]["message"], "2 orders, 229.95 EUR, average 109.50 CHF")
        self.assertFalse((self.work / "sent").exists())
        self.workflow("resume", "report.toml", view["instance"], status=3)
        view = self.workflow("resume", "report.toml", view["instance"], self.answer(view, True))
        self.assertEqual(view["outputs"], [{"executor": "send", "value": "sent"}])
        self.assertEqual((self.work / "sent").read_text(),
                         "to ann: 2 orders, 229.95 EUR, average 109.50 CHF\n")

    def test_the_example_sends_nothing_that_a_person_refused(self):
        self.example()
        view = self.workflow("run", "report.toml", "--input", "[1]", status=3)
        view = self.workflow("resume", "report.toml", view["instance"], self.answer(view, False))
        self.assertEqual(view["outputs"], [{"executor": "drop", "value": "not sent"}])
        self.assertFalse((self.work / "sent").exists())

    def test_the_guide_shows_what_happens(self):
        self.example()
        self.kept |= {"id", "request", "waits"}
        guide = (flows.ROOT / "docs/guides/workflows.md").read_text()
        environment = {"PATH": f"{self.shim()}:/usr/bin:/bin", "TMPDIR": str(self.tmp)}
        count = 0
        for block in re.findall(r"```console\n(.*?)```", guide, re.S):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, expected = part.partition("\n")
                done = subprocess.run(["bash", "-c", command], cwd=self.work, env=environment,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=harness.PATIENCE)
                pattern = ".*".join(re.escape(piece) for piece in expected.rstrip("\n").split("…"))
                said = harness.tier.without_note(done.stdout.encode()).decode().rstrip("\n")
                self.assertRegex(said, re.compile(r"\A" + pattern + r"\Z", re.S), command)
                count += 1
        self.assertGreater(count, 7)
        self.assertIn((flows.ROOT / "examples/workflow/report.toml").read_text().split("\n\n")[1],
                      guide)

    def shim(self):
        """A folder with a program named caisson."""
        folder = self.top / "bin"
        folder.mkdir()
        (folder / "caisson").symlink_to(harness.PROGRAM)
        return folder

    def test_code_that_waits_for_an_approval_continues_after_it(self):
        self.put("caisson.toml", STORE + GATED)
        self.put("note.sh", "#!/bin/sh\ncat >> notes; echo >> notes\necho '\"noted\"'\n")
        (self.work / "note.sh").chmod(0o755)
        self.kept.add("notes")
        self.put("flow.toml", 'name = "flow"\nstart = "note"\n[[executor]]\nid = "note"\n'
                              'kind = "tool"\ntool = "note"\narguments = { text = "x" }\n')
        view = self.run_flow(status=3)
        self.assertEqual(len(view["approvals"]), 1, view)
        self.assertEqual(self.resume(view, status=3)["approvals"], view["approvals"])
        done = self.caisson("approvals", "approve", view["approvals"][0]["id"], "--config", "caisson.toml")
        self.assertEqual(done.status, 0, done)
        self.assertEqual(self.resume(view)["outputs"], [{"executor": "note", "value": "noted"}])
        self.assertEqual((self.work / "notes").read_text().count("text"), 1)
        self.assertEqual(self.resume(view)["status"], "completed")
        self.assertEqual((self.work / "notes").read_text().count("text"), 1)

    def test_two_owners_do_not_see_each_other(self):
        self.put("caisson.toml", STORE)
        self.put("flow.toml", ASK)
        ann = ["--tenant", "acme", "--user", "ann"]
        bob = ["--tenant", "acme", "--user", "bob"]
        view = self.run_flow("--instance", "wf_same", *ann, status=3)
        errors = [self.caisson("workflow", "resume", "flow.toml", instance, "--config", "caisson.toml", *bob,
                               self.answer(view, "x"))
                  for instance in ("wf_same", "wf_none")]
        self.assertEqual([(done.status, done.err) for done in errors], [(2, errors[0].err)] * 2)
        self.assertIn(b"no such workflow instance", errors[0].err)
        shown = self.caisson("workflow", "show", "wf_same", "--config", "caisson.toml", *bob)
        self.assertEqual(shown.status, 2, shown)
        own = self.run_flow("--instance", "wf_same", "--input", '"b"', *bob, status=3)
        self.assertEqual(own["requests"][0]["message"], "b")
        self.assertEqual(self.resume(view, self.answer(view, "x"), *ann)["status"], "completed")
        self.assertEqual(self.workflow("show", "wf_same", *bob)["status"], "waiting")

    def test_one_of_two_processes_gives_the_answer(self):
        self.put("caisson.toml", STORE)
        self.put("flow.toml", ASK)
        view = self.run_flow(status=3)
        both = [self.start("workflow", "resume", "flow.toml", view["instance"], "--config", "caisson.toml",
                           "--json", self.answer(view, answer)) for answer in ("x", "y")]
        ended = [(process.communicate(timeout=harness.PATIENCE)[0], process.returncode) for process in both]
        self.assertEqual(sorted(status for _, status in ended), [0, 2], ended)
        last = self.workflow("show", view["instance"])
        self.assertEqual(last["status"], "completed")
        winner = json.loads(next(out for out, status in ended if status == 0))
        self.assertEqual(winner["outputs"], last["outputs"])

    def test_mistakes_are_shown_with_their_lines(self):
        self.put("flow.toml", 'name = "flow"\nstart = "a"\n[[executor]]\nid = "b"\nkind = "cod"\n')
        done = self.caisson("workflow", "check", "flow.toml")
        self.assertEqual(done.status, 2)
        self.assertIn(b'flow.toml:2: start: there is no executor "a"\n', done.err)
        self.assertIn(b"flow.toml:5: kind must be one of code, tool, agent, request, workflow\n", done.err)
        self.put("flow.json", '{"name": "flow",\n "start": "a"\n}')
        self.assertIn(b"flow.json:1: the workflow has no executors\n",
                      self.caisson("workflow", "check", "flow.json").err)

    def test_without_a_store_a_workflow_must_not_wait(self):
        self.put("flow.toml", ASK)
        done = self.caisson("workflow", "run", "flow.toml")
        self.assertEqual(done.status, 2, done)
        self.assertIn(b"nothing keeps it", done.err)


if __name__ == "__main__":
    harness.run_suite(__main__)
