"""kill -9 inside each superstep of a five-step workflow with a person: the same result, and each
effect once."""

import __main__
import os
import pathlib
import signal
import subprocess
import time

import flows
from flows import harness

STEPS = ("one", "two", "three", "four")  # And a person, between "two" and "three".
PLACES = ("begun", "before", "after")    # Where in a step the program is killed.
CONFIG = """
[store]
url = "{url}"
[runs]
lease_seconds = 1
[[tool]]
name = "work"
kind = "command"
command = ["./work.sh"]
inherit_env = ["PATH"]
idempotent = true
input_schema = {{ type = "object", properties = {{ step = {{ type = "string" }} }}, required = ["step"] }}
"""
# The effect of a step is one file per idempotency key. The tool stops where a file says so.
WORK = """#!/bin/sh
step=$(sed 's/.*"step": *"\\([a-z]*\\)".*/\\1/')
echo "$step" >> calls
stop() { touch "at.$1.$step"; while [ -e "stop.$1.$step" ]; do sleep 0.02; done; }
stop before
touch "effect.$step.$(echo "$CAISSON_IDEMPOTENCY_KEY" | tr -c 'A-Za-z0-9_\\n' _)"
stop after
echo "\\"$step done\\""
"""
CODE = """
import json
with open("/input/inputs.json") as file:
    message = json.load(file)["message"]
work(step="{step}") + " after " + str(message)
"""


def declaration():
    text = 'name = "flow"\nstart = "one"\n'
    for step in STEPS:
        text += f"[[executor]]\nid = \"{step}\"\nkind = \"code\"\ncode = '''{CODE.format(step=step)}'''\n"
    text += '[[executor]]\nid = "ask"\nkind = "request"\nprompt = "Go on?"\noutput = "string"\n'
    order = ["one", "two", "ask", "three", "four"]
    for source, target in zip(order, order[1:]):
        text += f'[[edge]]\nfrom = "{source}"\nto = "{target}"\n'
    return text


class Kills:
    url = ""

    def setUp(self):
        super().setUp()
        self.put("caisson.toml", CONFIG.format(url=self.url))
        self.put("flow.toml", declaration())
        self.put("work.sh", WORK)
        (self.work / "work.sh").chmod(0o755)

    def tearDown(self):
        for path in self.work.iterdir():
            if path.name.startswith(("at.", "stop.", "effect.")) or path.name == "calls":
                path.unlink()
        super().tearDown()

    def wait_for(self, name, process):
        deadline = time.monotonic() + harness.PATIENCE
        while not (self.work / name).exists():
            self.assertIsNone(process.poll(), f"ended before {name}")
            self.assertLess(time.monotonic(), deadline, name)
            time.sleep(0.01)

    def kill_at(self, place, step, arguments):
        """Starts the command and kills it at that place of that step."""
        stop = "before" if place == "begun" else place
        (self.work / f"stop.{stop}.{step}").touch()
        process = self.start("workflow", *arguments, "--config", "caisson.toml", "--json",
                             start_new_session=True)
        self.wait_for(f"at.{stop}.{step}", process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if place == "begun":  # The call never came to its effect.
            self.end_tools()
        for path in self.work.glob("stop.*"):
            path.unlink()
        self.wait_until_tools_ended()

    def tools(self):
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if b"./work.sh" in entry.read_bytes() and os.readlink(entry.parent / "cwd") == str(self.work):
                    yield int(entry.parent.name)
            except OSError:
                pass

    def end_tools(self):
        for pid in self.tools():
            os.kill(pid, signal.SIGKILL)

    def wait_until_tools_ended(self):
        deadline = time.monotonic() + harness.PATIENCE
        while any(self.tools()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def check(self, place, step, number):
        """One instance, killed there once, then resumed to its end."""
        instance = f"wf_{number}"
        before = step in ("one", "two")
        start = ["run", "flow.toml", "--instance", instance, "--input", '"go"']
        if before:
            self.kill_at(place, step, start)
            view = self.workflow("resume", "flow.toml", instance, status=3)
        else:
            view = self.workflow(*start, status=3)
        answer = ["resume", "flow.toml", instance, self.answer(view, "yes")]
        if before:
            view = self.workflow(*answer)
        else:
            self.kill_at(place, step, answer)
            view = self.workflow("resume", "flow.toml", instance)
        self.assertEqual(view["outputs"],
                         [{"executor": "four", "value": "four done after three done after yes"}])
        for each in STEPS:
            effects = [path.name for path in self.work.glob(f"effect.{each}.*")]
            self.assertEqual(len(effects), 1, (place, step, each))
        for path in [*self.work.glob("at.*"), *self.work.glob("effect.*")]:
            path.unlink()

    def test_one_pass(self):
        self.check("before", "two", 1)
        self.check("after", "three", 2)

    def test_every_place(self):
        for number, step in enumerate(STEPS):
            for place in PLACES:
                with self.subTest(step=step, place=place):
                    self.check(place, step, f"{number}_{place}")


class Sqlite(Kills, flows.Flows):
    url = "sqlite:flow.db"


class Postgres(Kills, flows.Flows):
    def setUp(self):
        script = flows.ROOT / "tests/store/postgres_server.sh"
        self.server = subprocess.Popen([script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        directory = self.server.stdout.readline().decode().strip()
        self.url = f"postgres://caisson@/postgres?host={directory}"
        super().setUp()
        self.put("caisson.toml", CONFIG.format(url=self.url).replace(
            "[runs]", 'keys_file = "caisson.keys"\n[runs]'))
        self.put("caisson.keys", os.urandom(32).hex() + "\n")
        (self.work / "caisson.keys").chmod(0o600)

    def tearDown(self):
        # The suite checks that no process is left.
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()
        super().tearDown()


if __name__ == "__main__":
    harness.run_suite(__main__)
