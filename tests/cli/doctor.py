"""`caisson doctor` reports correctly: on this machine, without user namespaces, with broken files.
"""

import __main__
import json
import pathlib
import shutil
import subprocess

import harness


class Doctor(harness.CliTest):
    def diagnose(self, *arguments):
        done = self.caisson("doctor", "--json", *arguments)
        self.assertEqual(done.out.count(b"\n"), 1, done)
        return done.status, json.loads(done.out)

    def engine(self, report, name="wasm"):
        return next(e for e in report["engines"] if e["name"] == name)

    def installation(self):
        """A copy of the installed parts, which tests damage."""
        worker = pathlib.Path(self.engine(self.diagnose()[1])["worker"])
        copy = self.top / "parts"
        copy.mkdir()
        for name in ("caisson-worker", "caisson.base"):
            shutil.copy((worker.parent / name).resolve(), copy / name)
        copy.chmod(0o755)
        return copy

    def test_it_agrees_with_what_runs_do(self):
        status, report = self.diagnose()
        ran = self.run_code("1+1", "--tier", report["default_tier"])
        self.assertEqual(report["healthy"], ran.status == 0, ran)
        self.assertEqual(status, 0 if report["healthy"] else 1)
        for tier in report["tiers"]:
            done = self.run_code("1+1", "--tier", tier["tier"])
            self.assertEqual(tier["available"], done.status == 0, (tier, done))
            done = self.run_code("1+1", "--engine", "native", "--tier", tier["tier"])
            self.assertEqual(tier["native_available"], done.status == 0, (tier, done))
            self.assertEqual(tier["native_why_not"] is None, tier["native_available"], tier)

    def test_it_tries_the_place_where_runs_keep_the_files_of_native_cells(self):
        missing = {"TMPDIR": str(self.top / "missing")}
        ran = self.run_code("1+1", "--engine", "native", "--tier", "landlock", variables=missing)
        self.assertEqual(ran.status, 2, ran)
        done = self.caisson("doctor", "--json", variables=missing)
        tiers = {tier["tier"]: tier for tier in json.loads(done.out)["tiers"]}
        self.assertFalse(tiers["landlock"]["native_available"], tiers)
        self.assertIn(missing["TMPDIR"], tiers["landlock"]["native_why_not"])
        words = self.caisson("doctor", variables=missing).out.decode()
        self.assertIn("engine native does not start in it: make a directory for cells in", words)

    def test_the_report_has_snake_case_keys_alone(self):
        def keys(value):
            if isinstance(value, dict):
                return set(value).union(*map(keys, value.values()))
            return set().union(*map(keys, value)) if isinstance(value, list) else set()
        found = keys(self.diagnose()[1])
        self.assertIn("fork_server", found)
        for key in found:
            self.assertRegex(key, "^[a-z][a-z0-9_]*$")

    def test_a_healthy_machine(self):
        status, report = self.diagnose()
        if not report["tiers"][0]["available"]:
            self.skipTest("no namespaces here")
        self.assertEqual(status, 0, report)
        wasm = self.engine(report)
        self.assertTrue(wasm["available"])
        self.assertRegex(wasm["build_id"], "^[0-9a-f]{40}$")
        self.assertRegex(wasm["base_sha256"], "^[0-9a-f]{64}$")
        native = self.engine(report, "native")
        self.assertTrue(native["available"], native)
        self.assertGreater(native["start_latency"]["fresh_run_us"], 1)
        latency = wasm["start_latency"]
        self.assertEqual(latency["tier"], "namespace")
        self.assertGreater(latency["engine_us"], latency["fresh_run_us"])
        self.assertGreater(latency["fresh_run_us"], 1)

    def test_in_words(self):
        done = self.caisson("doctor")
        text = done.out.decode()
        for word in ("user_namespaces", "landlock", "seccomp_filter", "namespace", "wasm", "native", "1+1"):
            self.assertIn(word, text)
        self.assertIn("✓" if done.status == 0 else "✗", text)

    def test_a_damaged_base(self):
        parts = self.installation()
        with open(parts / "caisson.base", "r+b") as base:
            base.seek(-1000, 2)
            byte = base.read(1)
            base.seek(-1000, 2)
            base.write(bytes([byte[0] ^ 1]))
        status, report = self.diagnose("--worker-dir", str(parts))
        self.assertEqual(status, 1)
        self.assertFalse(report["healthy"])
        self.assertIn("SHA-256", self.engine(report)["why_not"])
        self.assertIsNone(self.engine(report)["start_latency"])

    def test_an_installation_without_a_fork_server(self):
        status, report = self.diagnose("--worker-dir", str(self.installation()))
        native = self.engine(report, "native")
        self.assertFalse(native["available"])
        self.assertIn("caisson-forkserver", native["why_not"])
        self.assertTrue(native["fix"])
        self.assertTrue(self.engine(report)["available"])

    def test_a_truncated_base(self):
        parts = self.installation()
        (parts / "caisson.base").write_bytes((parts / "caisson.base").read_bytes()[:50])
        self.assertIn("too short", self.engine(self.diagnose("--worker-dir", str(parts))[1])["why_not"])

    def test_missing_parts(self):
        for name in ("caisson.base", "caisson-worker"):
            parts = self.installation()
            (parts / name).unlink()
            status, report = self.diagnose("--worker-dir", str(parts))
            self.assertEqual(status, 1)
            self.assertIn(name, self.engine(report)["why_not"])
            self.assertTrue(self.engine(report)["fix"])
            shutil.rmtree(parts)

    def test_a_worker_that_is_no_program(self):
        parts = self.installation()
        (parts / "caisson-worker").write_text("not a program")
        status, report = self.diagnose("--worker-dir", str(parts))
        self.assertEqual((status, self.engine(report)["available"]), (1, False))
        done = self.run_code("1", "--worker-dir", str(parts))
        self.assertIn(done.status, (2, 70), done)
        self.assertIn(b"caisson:", done.err)

    def without_user_namespaces(self, *arguments, code=b""):
        """Runs in a user namespace whose own limit of user namespaces is zero, as if they were
        disabled."""
        script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
        ran = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", harness.PROGRAM,
                              *arguments], input=code, capture_output=True, cwd=self.work, timeout=harness.PATIENCE)
        return harness.Done(ran.returncode, ran.stdout, ran.stderr)

    def test_with_user_namespaces_switched_off(self):
        switch_off = ["unshare", "--user", "--map-root-user", "sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces"]
        if subprocess.run(switch_off, capture_output=True).returncode != 0:
            self.skipTest("cannot make a user namespace and switch them off in it")
        done = self.without_user_namespaces("doctor", "--json")
        report = json.loads(done.out)
        self.assertEqual((done.status, report["healthy"], report["default_tier"]), (1, False, "namespace"))
        self.assertFalse(report["tiers"][0]["available"])
        self.assertIn("user_namespaces", report["tiers"][0]["why_not"])
        feature = next(f for f in report["features"] if f["name"] == "user_namespaces")
        self.assertIn("max_user_namespaces", feature["fix"])
        for name in ("mount_namespace", "pivot_root", "overlay_mounts"):
            feature = next(f for f in report["features"] if f["name"] == name)
            self.assertEqual(feature["fix"], "user_namespaces first", feature)
        self.assertIn("✗ user_namespaces", self.without_user_namespaces("doctor").out.decode())

        refused = self.without_user_namespaces("run", code=b"print('ran')")
        # I12: never a weaker tier unless requested.
        self.assertEqual((refused.status, refused.out), (2, b""), refused)
        self.assertIn(b"user namespaces are refused", refused.err)
        self.assertIn(b"caisson doctor", refused.err)
        self.assertTrue(any("seccomp=" in line for line in report["advice"]), report)
        self.assertTrue(any("hostUsers: false" in line for line in report["advice"]), report)
        self.assertTrue(any("procMount" in line for line in report["advice"]), report)
        if report["tiers"][1]["available"]:
            self.assertTrue(any("--tier landlock" in line for line in report["advice"]), report)
            weaker = self.without_user_namespaces("run", "--tier", "landlock", code=b"6*7")
            self.assertEqual((weaker.status, weaker.out), (0, b"42\n"), weaker)


if __name__ == "__main__":
    harness.run_suite(__main__)
