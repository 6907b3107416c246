"""docs/guides/agents.md is correct: its commands are run, their output is compared, and its configurations are read."""

import __main__
import os
import pathlib
import re
import subprocess

import agents
import harness
import serve

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guides/agents.md"


def examples(text):
    """Yields (command, output) of each `$ ` line in the console blocks."""
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.rstrip("\n")


class AgentsGuide(serve.Serve):
    def test_every_example_does_what_it_shows(self):
        self.put("send.sh", "#!/bin/sh\ncat > /dev/null\necho '\"sent\"'\n")
        (self.work / "send.sh").chmod(0o755)
        self.put("analyst.md", "Be brief.\n")
        blocks = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.S)
        process = self.serve(serve.MEMORY + blocks[0])
        self.kept |= {"waiting", "answer"}
        bin = self.top / "bin"
        bin.mkdir()
        (bin / "caisson").write_text(f'#!/bin/sh\nexec "{harness.PROGRAM}" "$@"\n')
        (bin / "caisson").chmod(0o755)
        # One shell for all: an example may use the results of an earlier one.
        shell = subprocess.Popen(["bash"], cwd=self.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                 env={**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "TMPDIR": str(self.tmp)})
        self.addCleanup(self.discard, shell)
        shell.stdin.write(f"URL=http://127.0.0.1:{self.port}\n")
        count = 0
        for command, expected in examples(GUIDE.read_text()):
            shell.stdin.write(command + "\nprintf '\\n@@end %d\\n' $?\n")
            shell.stdin.flush()
            said = ""
            for line in shell.stdout:
                if line.startswith("@@end "):
                    break
                said += line
            self.assertEqual(line, "@@end 0\n", command + "\n" + said)
            pattern = ".*".join(re.escape(piece) for piece in expected.split("…"))
            self.assertRegex(said.rstrip("\n"), re.compile(r"\A" + pattern + r"\Z", re.S), command)
            count += 1
        self.assertGreater(count, 5)
        shell.stdin.close()
        shell.wait()
        self.stop(process)

    def test_every_configuration_is_one(self):
        self.put("analyst.md", "Be brief.\n")
        blocks = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.S)
        self.assertGreater(len(blocks), 3)
        for block in blocks:
            self.put("caisson.toml", block)
            done = self.caisson("config", "check")
            self.assertEqual((done.status, done.out), (0, b"caisson.toml: no mistakes\n"), block)


if __name__ == "__main__":
    harness.run_suite(__main__)
