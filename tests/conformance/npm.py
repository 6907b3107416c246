"""The npm packages that tests use: installed once below the build directory."""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77  # ctest counts the test as skipped.


class Packages:
    def __init__(self, build):
        self.top = pathlib.Path(build).resolve() / "npm"
        self.top.mkdir(parents=True, exist_ok=True)
        with open(self.top / ".lock", "w") as lock:  # Suites run in parallel; one of them installs.
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.install()
        self.modules = self.top / "node_modules"
        self.node = str(self.modules / "node" / "bin" / "node")
        self.environment = {**os.environ, "PATH": f"{self.modules / 'node' / 'bin'}:{os.environ['PATH']}"}

    def install(self):
        wanted = (HERE / "package.json").read_text()
        done = self.top / ".installed"
        if done.exists() and done.read_text() == wanted:
            return
        if shutil.which("npm") is None:
            skip("npm is not installed")
        (self.top / "package.json").write_text(wanted)
        result = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], cwd=self.top,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode != 0:
            skip("npm could not install the packages: " + result.stdout.decode(errors="replace")[-2000:])
        done.write_text(wanted)

    def script(self, package, path):
        return str(self.modules / package / path)


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)
