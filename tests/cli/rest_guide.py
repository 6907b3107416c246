"""docs/guides/rest.md is correct: its commands are run and their output is compared."""

import __main__
import pathlib
import re
import subprocess

import harness
import serve

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guides/rest.md"


def examples(text):
    """Yields (command, output) of each `$ ` line in the console blocks."""
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.rstrip("\n")


def run_examples(test, text):
    """Runs the examples of a guide against the server of the test. Returns how many there are."""
    # One shell for all: an example may use the results of an earlier one.
    shell = subprocess.Popen(["bash"], cwd=test.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    test.addCleanup(test.discard, shell)
    shell.stdin.write(f"URL=http://127.0.0.1:{test.port}\n")
    count = 0
    for command, expected in examples(text):
        shell.stdin.write(command + "\nprintf '\\n@@end %d\\n' $?\n")
        shell.stdin.flush()
        said = ""
        for line in shell.stdout:
            if line.startswith("@@end "):
                break
            said += line
        test.assertEqual(line, "@@end 0\n", command)
        pattern = ".*".join(re.escape(piece) for piece in expected.split("…"))
        test.assertRegex(said.rstrip("\n"), re.compile(r"\A" + pattern + r"\Z", re.S), command)
        count += 1
    shell.stdin.close()
    shell.wait()
    return count


class RestGuide(serve.Serve):
    def test_every_example_does_what_it_shows(self):
        self.put("send.sh", "#!/bin/sh\ncat > /dev/null\necho '\"sent\"'\n")
        (self.work / "send.sh").chmod(0o755)
        process = self.serve(serve.MEMORY + serve.SEND)
        self.kept |= {"first", "run"}
        self.assertGreater(run_examples(self, GUIDE.read_text()), 8)
        self.stop(process)

    def test_every_configuration_is_one(self):
        self.put("ann.key", serve.ANN + "\n")
        self.put("token.key", "a-shared-secret-of-32-bytes-or-more\n")
        blocks = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.S)
        self.assertEqual(len(blocks), 5)
        for block in blocks:
            self.stop(self.serve(serve.MEMORY + block))


if __name__ == "__main__":
    harness.run_suite(__main__)
