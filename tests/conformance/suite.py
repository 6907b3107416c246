"""Runs MCP's own conformance suite against caisson: both frozen sets of requirements with the
suite's fixtures, and the ordinary server, where only tests that need a fixture may fail.

    suite.py PROGRAM BUILD_DIRECTORY [--verbose]"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tier  # noqa: E402
from npm import HERE, Packages

PATIENCE = 300


class Listener:
    """A program that listens on a free port of this machine and prints where."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        line = self.process.stdout.readline().decode().strip()
        assert line.startswith("listening on http://127.0.0.1:"), line
        # The host name that the suite needs for its rebinding test.
        self.url = line.removeprefix("listening on ").replace("127.0.0.1", "localhost") + "/mcp"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        assert status == 0, f"the server ended with {status}"


class Server(Listener):
    """caisson with a store in memory."""

    def __init__(self, program, *arguments, more_config=""):
        self.directory = tempfile.TemporaryDirectory(prefix="caisson-serve-")
        config = pathlib.Path(self.directory.name) / "caisson.toml"
        config.write_text('[store]\nurl = "memory:"\n' + more_config)
        super().__init__(program, "serve", "--listen", "127.0.0.1:0", "--config", config, *arguments)

    def __exit__(self, *_):
        super().__exit__()
        self.directory.cleanup()


def run(packages, url, *arguments):
    """Returns whether the suite passes."""
    command = [packages.node, packages.script("@modelcontextprotocol/conformance", "dist/index.js"),
               "server", "--url", url, *arguments]
    with tempfile.TemporaryDirectory(prefix="caisson-conformance-") as out:
        done = subprocess.run([*command, "-o", out], env=packages.environment, cwd=out, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0 or "--verbose" in sys.argv:
        print(text)
    print(f"{'ok    ' if done.returncode == 0 else 'FAILED'} {' '.join(arguments)}", flush=True)
    return done.returncode == 0


def main():
    program, packages = tier.program(sys.argv[1]), Packages(sys.argv[2])
    content = True
    with Listener(os.environ["FIXTURE_SERVER"], pathlib.Path(sys.argv[1]).resolve().parent, tier.NAME) as server:
        for version in ("2026-07-28", "2025-11-25"):
            content &= run(packages, server.url, "--requirements", version)
    with Server(program) as server:
        content &= run(packages, server.url, "--suite", "all", "--spec-version", "2026-07-28",
                       "--expected-failures", str(HERE / "without-fixtures.yml"))
    sys.exit(0 if content else 1)


if __name__ == "__main__":
    main()
