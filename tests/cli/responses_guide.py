"""docs/guides/responses.md is correct: its commands are run with its configuration, and their output
is compared."""

import __main__
import pathlib
import re

import harness
import rest_guide
import serve

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guides/responses.md"


class ResponsesGuide(serve.Serve):
    def test_every_example_does_what_it_shows(self):
        text = GUIDE.read_text()
        configuration, = re.findall(r"```toml\n(.*?)```", text, re.S)
        self.put("send.sh", "#!/bin/sh\ncat > /dev/null\necho '\"sent\"'\n")
        (self.work / "send.sh").chmod(0o755)
        process = self.serve(serve.MEMORY + configuration)
        self.kept |= {"asked", "begun", "conversation"}
        self.assertGreater(rest_guide.run_examples(self, text), 14)
        self.stop(process)


if __name__ == "__main__":
    harness.run_suite(__main__)
