"""SIGINT and SIGTERM: the first cancels the run and shows what there is, the second ends everything
at once."""

import __main__
import json
import os
import pathlib
import signal

import harness

ENDLESS = "print('started', flush=True)\nwhile True: pass"


class Signals(harness.CliTest):
    def start_endless(self, *arguments):
        self.put("endless.py", ENDLESS)
        return self.start("run", "endless.py", "--limit", "wall_seconds=100", "--limit", "cpu_seconds=100",
                          *arguments, preexec_fn=harness.without_signals)

    def wait_until_computing(self, process):
        """Waits until the guest computes: some child of the program uses CPU time."""
        def computing():
            return any(harness.cpu_seconds(child) >= 0.05 for child in harness.children_of(process.pid))
        self.wait_until(computing, "the worker computes")

    def test_a_signal_cancels_and_the_partial_output_is_there(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            process = self.start_endless()
            self.assertEqual(process.stdout.readline(), b"started\n")
            process.send_signal(number)
            out, err = process.communicate(timeout=harness.PATIENCE)
            self.assertEqual((process.returncode, out, harness.tier.without_note(err)), (status, b"", b"caisson: cancelled\n"))
            self.expect_no_child()

    def test_with_json_there_is_still_one_outcome(self):
        process = self.start_endless("--json")
        self.wait_until_computing(process)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, err), (143, b""))
        outcome = json.loads(out)
        self.assertEqual((outcome["status"], outcome["reason"], outcome["stdout"]), ("cancelled", "killed", "started\n"))

    def test_the_second_signal_ends_at_once_even_if_nobody_reads(self):
        self.put("flood.py", "print('x' * 1_000_000)\nwhile True: pass")
        process = self.start("run", "flood.py", "--limit", "stdout_bytes=2000000", "--limit", "wall_seconds=100",
                             preexec_fn=harness.without_signals)
        self.wait_until_computing(process)  # Its stdout is full by now, or soon: we do not read.
        process.send_signal(signal.SIGINT)
        def first_taken():
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            pending = [line for line in status.splitlines() if line.startswith("ShdPnd")]
            return process.poll() is not None or int(pending[0].split()[1], 16) & (1 << (signal.SIGINT - 1)) == 0
        self.wait_until(first_taken, "the first signal is taken")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(harness.PATIENCE), 130)

    def test_a_signal_from_the_terminal_reaches_us_and_not_the_worker(self):
        process = self.start("run", self.put("endless.py", ENDLESS), "--limit", "wall_seconds=100",
                             preexec_fn=harness.without_signals, start_new_session=True)
        self.assertEqual(process.stdout.readline(), b"started\n")
        os.killpg(process.pid, signal.SIGINT)  # As Ctrl-C does: the whole group.
        out, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, harness.tier.without_note(err)), (130, b"caisson: cancelled\n"))

    def test_an_ignored_signal_stays_ignored(self):
        def ignore():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        process = self.start("run", self.put("endless.py", ENDLESS), "--limit", "wall_seconds=0.5", preexec_fn=ignore)
        self.assertEqual(process.stdout.readline(), b"started\n")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"wall_time", err)

    def test_killed_outright_it_takes_its_worker_along(self):
        process = self.start_endless()
        self.assertEqual(process.stdout.readline(), b"started\n")
        process.kill()
        self.assertEqual(process.wait(harness.PATIENCE), -signal.SIGKILL)
        self.expect_no_child()

    def test_a_signal_while_the_code_is_read(self):
        reader, writer = os.pipe()
        process = self.start("run", stdin=reader, preexec_fn=harness.without_signals)
        os.close(reader)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(harness.PATIENCE), -signal.SIGTERM)
        os.close(writer)


if __name__ == "__main__":
    harness.run_suite(__main__)
