"""Builds the container image with and without numpy, pandas and matplotlib, and checks its size and that it works.

    image.py BUILD SOURCE [--real-build] [unittest options]

The base is a Debian 12 made with debootstrap, because no registry is asked for one. The programs come from BUILD instead of
the Dockerfile's stage `build`, which would compile them again; everything else is done as packaging/Dockerfile says. With
--real-build, that stage compiles them, which takes as long as `make programs` on a new machine.
A size is the sum of the layers as a registry stores them, compressed with gzip.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import container
import containers

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77  # ctest counts the test as skipped.
BASE = "localhost/caisson-debian:12"
FULL_BYTES = 300_000_000
SMALL_BYTES = 120_000_000
KEY = "0123456789abcdef0123456789abcdef"

PANDAS = b"""
import pandas as pd
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
frame = pd.DataFrame({"a": [1, 2, 3]})
frame.plot().figure.savefig("/output/frame.png")
int(frame.a.sum())
"""

# Starts the image's own command, waits for the line that says it listens, asks over HTTP. The small
# image has no other client.
SERVE = r"""
exec 4< <(exec "$@" 2>&1)
server=$!
while read -r line <&4; do
  echo "$line"
  case $line in *"listening on"*) break ;; esac
done
exec 3<>/dev/tcp/127.0.0.1/8080 || exit 1
body='{"code": "6*7"}'
printf 'POST /v1/runs HTTP/1.1\r\nHost: caisson\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n' "$CAISSON_KEY" >&3
printf 'Connection: close\r\nContent-Length: %d\r\n\r\n%s' "${#body}" "$body" >&3
cat <&3
kill "$server"
"""


class Storage:
    """Images of buildah below one folder, apart from those of the machine."""

    def __init__(self, folder):
        self.options = ["buildah", "--root", folder / "images", "--runroot", folder / "run", "--storage-driver", "vfs"]

    def __call__(self, *arguments):
        done = subprocess.run([*self.options, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError(f"buildah {arguments[0]}: {(done.stdout + done.stderr)[-3000:]}")
        return done.stdout.strip()

    def make_base(self, root):
        """Imports the root file system as BASE, once."""
        if BASE in self("images", "--format", "{{.Name}}:{{.Tag}}").split():
            return
        made = self("from", "scratch")
        self("add", "--quiet", made, root, "/")
        self("commit", "--quiet", "--rm", made, BASE)

    def build(self, image, programs, source, options):
        # The machine's own package sources, so that its mirrors serve the build too. They do not
        # become part of the image.
        apt = [f"--volume={path}:{path}:ro" for path in map(pathlib.Path, (
            "/etc/apt/sources.list.d", "/etc/apt/apt.conf.d", "/etc/apt/auth.conf.d")) if path.is_dir()]
        stage = [f"--build-context=build={programs}"] if programs else []
        self("build", "--isolation=chroot", "--network=host", *apt, f"--build-arg=DEBIAN={BASE}", *stage, *options,
             f"--file={source}/packaging/Dockerfile", f"--tag={image}", source)

    def compressed_bytes(self, image):
        with tempfile.TemporaryDirectory() as folder:
            self("push", "--quiet", "--format=oci", image, f"dir:{folder}")
            manifest = json.loads((pathlib.Path(folder) / "manifest.json").read_text())
            return sum(layer["size"] for layer in manifest["layers"])

    def config(self, image):
        return json.loads(self("inspect", "--type=image", image))["OCIv1"]["config"]

    @contextlib.contextmanager
    def root_of(self, image):
        working = self("from", image)
        try:
            yield self("mount", working)
        finally:
            self("rm", working)


def make_root(folder):
    """A minimal Debian 12, made once. make_root.sh finds the mirror; here no package is added."""
    if (folder / ".complete").exists():
        return
    subprocess.run(["sh", HERE / "make_root.sh", folder, ""], check=True, stdout=subprocess.DEVNULL)


class Image(unittest.TestCase):
    def build(self, name, options=()):
        image = f"localhost/caisson-test:{name}"
        begun = time.monotonic()
        STORAGE.build(image, PROGRAMS, SOURCE, options)
        print(f"{image}: built in {time.monotonic() - begun:.0f} s")
        self.addCleanup(STORAGE, "rmi", image)
        return image

    def check_size(self, image, limit):
        size = STORAGE.compressed_bytes(image)
        print(f"{image}: {size / 1e6:.0f} MB compressed, limit {limit / 1e6:.0f} MB")
        self.assertLess(size, limit)

    def check_programs(self, image, codes):
        """Runs the image's program as its user, on a read-only root, with our seccomp profile."""
        config = STORAGE.config(image)
        self.assertEqual(config["User"], "1000:1000")
        self.assertEqual(config["Entrypoint"], ["/usr/local/bin/caisson"])
        with STORAGE.root_of(image) as root, tempfile.TemporaryDirectory() as data:
            os.chown(data, 1000, 1000)
            started = container.Container(root, container.CAISSON, 1000, {data: "/data"})

            def output(command, code=b""):
                done = started.run(command, stdin=code, environment={"CAISSON_KEY": KEY})
                self.assertEqual(done.returncode, 0, (done.stdout + done.stderr).decode(errors="replace"))
                return done.stdout.decode()

            self.assertIn("Runs use the tier namespace", output([*config["Entrypoint"], "doctor"]))
            for engine, code, answer in codes:
                command = [*config["Entrypoint"], "run", "--engine", engine, "--limit", "wall_seconds=60",
                           "--limit", "cpu_seconds=60", "-"]
                self.assertEqual(output(command, code).strip(), answer)
            served = output(["/bin/bash", "-c", SERVE, "serve", *config["Entrypoint"], *config["Cmd"]])
            self.assertIn("HTTP/1.1 200", served)
            self.assertIn('"result":42', served.replace(" ", ""))

    def check_profiles(self, image):
        """Runs inside.py in the image's root: under each profile, as root and as an ordinary user."""
        with STORAGE.root_of(image) as root:
            for profile, tier in containers.PROFILES:
                for uid in (0, 1000):
                    begun = time.monotonic()
                    with self.subTest(profile=profile.name, uid=uid):
                        started = container.Container(root, profile, uid, {HERE: str(HERE)})
                        command = ["/usr/bin/python3.11", str(HERE / "inside.py"), "/usr/local/bin/caisson", tier]
                        done = started.run(command, timeout=600)
                        self.assertEqual(done.returncode, 0, "\n" + (done.stdout + done.stderr).decode(errors="replace"))
                    print(f"{profile.name}, user {uid}: {time.monotonic() - begun:.0f} s")

    def test_the_full_image_is_small_enough_and_works(self):
        image = self.build("full")
        self.check_size(image, FULL_BYTES)
        self.check_programs(image, [("wasm", b"6*7", "42"), ("native", PANDAS, "6")])
        self.check_profiles(image)

    def test_the_image_without_packages_is_small_enough_and_works(self):
        image = self.build("small", ["--build-arg=PACKAGES="])
        self.check_size(image, SMALL_BYTES)
        self.check_programs(image, [("wasm", b"6*7", "42"), ("native", b"6*7", "42")])


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


def main():
    global PROGRAMS, SOURCE, STORAGE
    arguments = sys.argv[1:]
    real_build = "--real-build" in arguments
    if real_build:
        arguments.remove("--real-build")
    build, SOURCE = (pathlib.Path(path).resolve() for path in arguments[:2])
    if os.getuid() != 0:
        skip("images are built by root here")
    for program in ("buildah", "debootstrap", "runc"):
        if shutil.which(program) is None:
            skip(f"{program} is not installed")
    work = build / "image-test"
    PROGRAMS = None if real_build else work / "programs"
    if PROGRAMS:
        shutil.rmtree(PROGRAMS, ignore_errors=True)
        subprocess.run(["cmake", "--install", build, "--prefix", "/usr/local", "--component", "runtime", "--strip"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": str(PROGRAMS)})
    make_root(work / "debian")
    STORAGE = Storage(work)
    STORAGE.make_base(work / "debian")
    unittest.main(argv=[sys.argv[0], "-v", *arguments[2:]])


if __name__ == "__main__":
    main()
