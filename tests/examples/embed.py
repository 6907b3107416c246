"""Installs everything below a fresh prefix and builds examples/embed with only that prefix, in both
ways."""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import tier  # noqa: E402

OPTIONS = None
EXPECTED = 'reserved: {"apple":3,"pear":2}\nthat makes 12\n\n"R-1"\n'


def call(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))}\n{done.stdout}")
    return done.stdout


class Embed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="caisson-embed-")
        cls.addClassCleanup(directory.cleanup)
        cls.work = pathlib.Path(directory.name)
        cls.work.chmod(0o755)  # Workers run as another user and must be able to read their files.
        cls.prefix = cls.work / "prefix"
        call(OPTIONS.cmake, "--build", OPTIONS.build, "--target", "libcaisson")
        call(OPTIONS.cmake, "--install", OPTIONS.build, "--prefix", cls.prefix, "--strip")

    def test_the_cmake_package(self):
        build = self.work / "build"
        call(OPTIONS.cmake, "-S", OPTIONS.example, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
             f"-DCMAKE_CXX_COMPILER={OPTIONS.compiler}")
        call(OPTIONS.cmake, "--build", build)
        self.assertEqual(call(build / "embed", tier.NAME), EXPECTED)

    def test_the_pkg_config_file(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(next(self.prefix.glob("**/pkgconfig"))))
        flags = shlex.split(call("pkg-config", "--cflags", "--libs", "caisson", env=environment))
        compile_flags = [flag for flag in flags if not flag.startswith(("-l", "-L"))]
        link_flags = [flag for flag in flags if flag.startswith(("-l", "-L"))]
        call(OPTIONS.compiler, *compile_flags, f"{OPTIONS.example}/main.cc", "-o", self.work / "embed", *link_flags)
        self.assertEqual(call(self.work / "embed", tier.NAME), EXPECTED)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("build", "example", "cmake", "compiler"):
        parser.add_argument(f"--{name}", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
