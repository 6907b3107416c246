"""Engines: what native runs and how runs end there, which engine auto chooses, what check reports.
"""

import __main__

import harness

HAS_NUMPY = harness.has_package("numpy")


class Native(harness.CliTest):
    def native(self, code, *arguments):
        outcome = self.outcome_of(code, "--engine", "native", *arguments)
        self.assertEqual(outcome["boundary"]["engine"], "native", outcome)
        return outcome

    def test_a_value_output_and_a_file(self):
        outcome = self.native("print('hi')\nopen('/output/a.txt', 'w').write('x')\n6*7")
        self.assertEqual((outcome["status"], outcome["result"], outcome["stdout"]), ("completed", 42, "hi\n"))
        self.assertEqual([(f["path"], f["change"], f["size"]) for f in outcome["files"]],
                         [("/output/a.txt", "created", 1)])

    def test_ends_have_their_reasons(self):
        for code, status, reason, *arguments in [
                ("1/0", "failed", "raised"),
                ("1 +", "rejected", "policy"),
                ("import os; os._exit(3)", "failed", "raised"),
                ("import os; os._exit(0)", "completed", "returned"),
                ("import ctypes; ctypes.string_at(0)", "failed", "crashed"),
                ("import ctypes; ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)", "failed", "denied_syscall"),
                ("x = bytearray(10**10)", "limit", "memory"),
                ("import time; time.sleep(60)", "limit", "wall_time", "--limit", "wall_seconds=0.2"),
                ("while True: pass", "limit", "cpu_time", "--limit", "cpu_seconds=0.2", "--limit", "wall_seconds=50"),
                ("'x' * 10**6", "limit", "result"),
        ]:
            outcome = self.native(code, *arguments)
            self.assertEqual((outcome["status"], outcome["reason"]), (status, reason), (code, outcome))

    def test_threads(self):
        code = ("import threading\nseen = []\n"
                "threads = [threading.Thread(target=seen.append, args=(i,)) for i in range(8)]\n"
                "[t.start() for t in threads]\n[t.join() for t in threads]\nsorted(seen)")
        self.assertEqual(self.native(code)["result"], list(range(8)))

    @harness.tier.needs_namespaces
    def test_processes_where_the_limit_allows_them(self):
        code = "import os\npid = os.fork()\nif pid == 0: os._exit(7)\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
        self.assertEqual(self.native(code, "--limit", "processes=4")["result"], 7)
        self.assertEqual(self.native(code)["status"], "failed")

    @harness.tier.needs_namespaces
    def test_an_orphan_does_not_outlive_its_run(self):
        code = "import os, time\nif os.fork() == 0:\n    time.sleep(600)\n1"
        # tearDown checks that it is gone.
        self.assertEqual(self.native(code, "--limit", "processes=4")["result"], 1)

    @harness.unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
    def test_numpy(self):
        code = "import numpy as np; float(np.arange(10).mean())"
        self.assertEqual(self.native(code)["result"], 4.5)

    @harness.unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
    def test_matrices_are_multiplied_within_the_default_limits(self):
        self.put("other.toml", '[python]\nprefix = "/usr"\n')
        code = "import numpy as np\na = np.ones((300, 300))\nfloat((a @ a)[0, 0])"
        bomb = "import numpy as np\nkept = []\nwhile True: kept.append(np.ones((300, 300)) @ np.ones((300, 300)))"
        for arguments in ((), ("--tier", "landlock"), ("--env", "A=b"), ("--config", "other.toml")):
            self.assertEqual(self.native(code, *arguments)["result"], 300, arguments)
            outcome = self.native(bomb, *arguments)
            self.assertEqual((outcome["status"], outcome["reason"]), ("limit", "memory"), (arguments, outcome))

    @harness.unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
    def test_threads_without_room_for_their_products_have_no_memory(self):
        code = ("import numpy as np, threading\na = np.ones((600, 600))\nbegin = threading.Barrier(8)\n"
                "def multiply():\n    begin.wait()\n    for _ in range(20): a @ a\n"
                "threads = [threading.Thread(target=multiply) for _ in range(8)]\n"
                "for thread in threads: thread.start()\nfor thread in threads: thread.join()\n'done'")
        limits = "--limit", "wall_seconds=50", "--limit", "cpu_seconds=50"
        outcome = self.native(code, *limits)
        if outcome["status"] != "completed":  # A BLAS that needs no buffers succeeds.
            self.assertEqual((outcome["status"], outcome["reason"]), ("limit", "memory"), outcome)
        self.assertEqual(self.native(code, *limits, "--limit", "memory_bytes=1400000000")["result"], "done")

    def test_entities_that_a_document_declares_are_not_expanded(self):
        self.put("other.toml", '[python]\nprefix = "/usr"\n')
        code = (harness.pathlib.Path(__file__).parent / "programs/xml_entities.py").read_text()
        for arguments in ((), ("--config", "other.toml")):
            outcome = self.native(code, "--policy", "open", *arguments)
            self.assertEqual(outcome["status"], "completed", outcome)
            for way, (plain, *declared) in outcome["result"].items():
                self.assertIn("<&A", plain, way)
                self.assertEqual(["undefined entity" in found for found in declared], [True] * 3, (way, declared))

    @harness.tier.needs_native_rw
    def test_mounts(self):
        data = self.top / "data"
        data.mkdir()
        (data / "in.txt").write_text("in")
        code = "open('/data/out.txt', 'w').write(open('/data/in.txt').read() + '!')"
        for mode, there in (("ro", False), ("overlay", False), ("rw", True)):
            outcome = self.native(code, "--mount", f"{data}:/data:{mode}")
            self.assertEqual(outcome["status"], "failed" if mode == "ro" else "completed", outcome)
            self.assertEqual((data / "out.txt").exists(), there, mode)
        self.assertEqual((data / "out.txt").read_text(), "in!")
        self.assertEqual([f["path"] for f in outcome["files"]], ["/data/out.txt"])

    def test_a_virtual_environment(self):
        # Not below /tmp, where cells have their own files.
        with harness.tempfile.TemporaryDirectory(dir="/var/tmp") as name:
            prefix = harness.pathlib.Path(name)
            prefix.chmod(0o755)
            packages = prefix / "lib/python3.11/site-packages"
            packages.mkdir(parents=True)
            (packages / "greeting.py").write_text("word = 'hello'")
            self.put("c.toml", f'[python]\nprefix = "{prefix}"\n[engine]\nnative_packages = ["greeting"]\n')
            code = "import greeting; greeting.word"
            self.assertEqual(self.native(code, "--config", "c.toml")["result"], "hello")
            outcome = self.outcome_of(code, "--config", "c.toml", "--policy", "strict")
            self.assertEqual((outcome["result"], outcome["boundary"]["engine"]), ("hello", "native"), outcome)
        done = self.run_code("1", "--engine", "native", "--config", "c.toml")
        self.assertNotEqual(done.status, 0)
        self.assertIn(b"contains no Python", done.err)

    def test_another_python(self):
        prefix = harness.INSTALLED / "pythons/3.9"
        if not prefix.exists():
            self.skipTest("foreign.fetch has brought no Python 3.9")
        self.put("c.toml", f'[python]\nprefix = "{prefix}"\n')
        version = "import platform; platform.python_version_tuple()[:2]"
        outcome = self.native(version, "--config", "c.toml", "--policy", "open")
        self.assertEqual((outcome["result"], outcome["boundary"]["engine"]), (["3", "9"], "native"), outcome)
        outcome = self.native("sum(range(5))", "--config", "c.toml", "--policy", "strict")
        self.assertEqual(outcome["result"], 10, outcome)
        outcome = self.native("import os\nos.system('id')", "--config", "c.toml", "--policy", "strict")
        self.assertEqual((outcome["status"], outcome["findings"][0]["line"]), ("rejected", 2), outcome)

    def test_an_installation_without_a_fork_server_says_so(self):
        done = self.run_code("1", "--engine", "native", "--worker-dir", str(self.without_fork_server()))
        self.assertEqual((done.status, done.out), (2, b""), done)
        self.assertIn(b"caisson-forkserver", done.err)

    def without_fork_server(self):
        parts = self.top / "parts"
        parts.mkdir()
        for name in ("caisson-worker", "caisson.base"):
            (parts / name).symlink_to((harness.INSTALLED / name).resolve())
        return parts


class Auto(harness.CliTest):
    def test_ordinary_code_runs_in_wasm(self):
        self.assertEqual(self.outcome_of("6*7")["boundary"]["engine"], "wasm")

    @harness.unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
    def test_code_that_only_native_can_run_runs_there(self):
        outcome = self.outcome_of("print('once')\nimport numpy as np\nfloat(np.arange(10).mean())")
        self.assertEqual((outcome["result"], outcome["stdout"]), (4.5, "once\n"), outcome)
        self.assertEqual(outcome["boundary"]["engine"], "native")

    def test_a_module_that_neither_engine_has_is_a_finding(self):
        outcome = self.outcome_of("print('ran')\nimport no_such_package_at_all")
        self.assertEqual((outcome["status"], outcome["stdout"]), ("rejected", ""), outcome)
        self.assertEqual(outcome["findings"][0]["rule"], "import")
        self.assertEqual(outcome["findings"][0]["line"], 2)
        self.assertIn("no_such_package_at_all", outcome["findings"][0]["message"])

    def test_code_may_handle_a_missing_module_itself(self):
        code = "try:\n    import no_such_package_at_all\nexcept ImportError:\n    x = 1\nx"
        self.assertEqual(self.outcome_of(code)["result"], 1)

    def test_an_unknown_engine(self):
        done = self.run_code("1", "--engine", "steam")
        self.assertEqual(done.status, 2, done)
        for word in (b"steam", b"auto", b"wasm", b"native"):
            self.assertIn(word, done.err)


class Check(harness.CliTest):
    def check(self, code, *arguments):
        done = self.caisson("check", "--json", *arguments, code=code)
        return done.status, done.outcome

    def test_clean_code_is_not_executed(self):
        status, report = self.check("import json\nprint('ran')\n1/0")
        self.assertEqual((status, report["clean"], report["findings"]), (0, True, []), report)
        self.assertEqual((report["imports"], report["engine"]), (["json"], "wasm"))

    def test_findings(self):
        status, report = self.check("x = 1\neval('1')")
        self.assertEqual((status, report["clean"], report["engine"]), (1, False, None), report)
        self.assertEqual(report["findings"][0]["line"], 2)
        self.assertEqual(self.check("eval('1')", "--policy", "open")[0], 0)

    def test_a_syntax_error_is_a_finding(self):
        status, report = self.check("1 +")
        self.assertEqual((status, report["findings"][0]["rule"]), (1, "syntax"), report)

    @harness.unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
    def test_the_engine_it_would_run_in(self):
        self.assertEqual(self.check("import numpy")[1]["engine"], "native")

    def test_in_words(self):
        self.put("task.py", "x = 1\neval('1')")
        done = self.caisson("check", "task.py")
        self.assertEqual(done.status, 1)
        self.assertTrue(done.out.startswith(b"task.py:2:1: "), done)
        self.assertIn(b"clean", self.caisson("check", code="1").out)

    def test_bad_usage(self):
        for arguments in (["no_such_file.py"], ["--policy", "lax"], ["--frobnicate"]):
            done = self.caisson("check", *arguments)
            self.assertEqual((done.status, done.out), (2, b""), done)


if __name__ == "__main__":
    harness.run_suite(__main__)
