"""Where output goes: as it is produced, unchanged into a pipe, harmless on a terminal, quiet when
nobody reads."""

import __main__
import os
import pty
import subprocess
import termios

import harness

HOSTILE = "print('a\\x1b]0;owned\\x07b\\rc\\x9bd ü\\t!')\n"


class Streams(harness.CliTest):
    def on_terminal(self, *arguments, stream):
        """Runs with a terminal as that stream; returns the exit status and the bytes that appeared
        there."""
        ours, theirs = pty.openpty()
        attributes = termios.tcgetattr(theirs)
        attributes[1] &= ~termios.OPOST  # No output processing.
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        process = self.start(*arguments, **{stream: theirs})
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # EIO: the other side is closed.
            pass
        os.close(ours)
        process.communicate(timeout=harness.PATIENCE)
        return process.returncode, shown

    def test_a_pipe_gets_every_byte_unchanged(self):
        self.assertEqual(self.run_code(HOSTILE).out, "a\x1b]0;owned\x07b\rc\x9bd ü\t!\n".encode())
        raw = bytes(range(256))
        self.assertEqual(self.run_code("import sys; sys.stdout.buffer.write(bytes(range(256)))").out[:256], raw)

    def test_nothing_is_added_to_unfinished_lines(self):
        done = self.run_code("import sys\nsys.stdout.write('a')\nsys.stderr.write('b')\nNone")
        self.assertEqual((done.status, done.out), (0, b"a"))
        # What a weaker tier adds begins on a line of its own.
        self.assertEqual(done.err, b"b\n" if harness.tier.REFUSED else b"b")
        done = self.run_code("import sys\nsys.stderr.write('b')\nraise ValueError(1)")
        self.assertTrue(done.err.startswith(b"b\nTraceback"), done)

    def test_a_terminal_gets_no_control_characters(self):
        self.put("hostile.py", HOSTILE + "'\\x9b31m'")
        status, shown = self.on_terminal("run", "hostile.py", stream="stdout")
        self.assertEqual(status, 0)
        self.assertEqual(shown, "a\\x1b]0;owned\\x07b\\x0dc\\xc2\\x9bd ü\t!\n\"\\xc2\\x9b31m\"\n".encode())

    def test_errors_are_harmless_on_a_terminal_too(self):
        self.put("hostile.py", "raise ValueError('\\x1b[2Jgone')")
        status, shown = self.on_terminal("run", "hostile.py", stream="stderr")
        self.assertEqual(status, 1)
        self.assertNotIn(b"\x1b", shown)
        self.assertIn(b"\\x1b[2Jgone", shown)

    def test_code_typed_at_a_terminal(self):
        ours, theirs = pty.openpty()
        process = self.start("run", stdin=theirs)
        os.close(theirs)
        os.write(ours, b"6*7\n\x04")
        out, err = process.communicate(timeout=harness.PATIENCE)
        os.close(ours)
        self.assertEqual((process.returncode, out), (0, b"42\n"), err)
        self.assertIn(b"Ctrl-D", err)

    def test_output_streams_while_the_code_runs(self):
        self.put("endless.py", "print('first', flush=True)\nwhile True: pass")
        process = self.start("run", "endless.py", "--limit", "wall_seconds=60")
        self.assertEqual(process.stdout.readline(), b"first\n")  # Long before the run is over.
        self.assertIsNone(process.poll())
        process.kill()
        process.wait()

    def test_a_reader_who_leaves_ends_the_run_quietly(self):
        self.put("chatty.py", "while True: print('x' * 1000, flush=True)")
        process = self.start("run", "chatty.py", "--limit", "wall_seconds=60", "--limit", "stdout_bytes=16000000")
        process.stdout.read(1)
        process.stdout.close()
        process.stdout = None
        err = harness.tier.without_note(process.communicate(timeout=harness.PATIENCE)[1])
        self.assertEqual((process.returncode, err.splitlines()[-1:]), (1, [b"caisson: cancelled"]), err)
        # Otherwise the code may have printed everything before we notice.
        if harness.SLOWDOWN == 1:
            self.assertEqual(err, b"caisson: cancelled\n")

    def test_nobody_reads_the_value(self):
        for flags in ([], ["--json"]):
            self.put("value.py", "6*7")
            reader, writer = os.pipe()
            os.close(reader)
            process = self.start("run", "value.py", *flags, stdout=writer)
            os.close(writer)
            err = harness.tier.without_note(process.communicate(timeout=harness.PATIENCE)[1])
            self.assertEqual((process.returncode, err), (1, b""), flags)

    def test_closed_stdout(self):
        done = self.run_code("6*7", preexec_fn=lambda: os.close(1))
        self.assertEqual(done.status, 2, done)
        self.assertIn(b"stdout", done.err)
        self.assertEqual(self.run_code("x = 1", preexec_fn=lambda: os.close(1)).status, 0)

    def test_all_streams_closed(self):
        self.put("value.py", "x = 6*7")
        done = self.caisson("run", "value.py", stdin=None, preexec_fn=lambda: os.closerange(0, 3))
        self.assertEqual((done.status, done.out, done.err), (0, b"", b""))

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            process = self.start("run", "--json", "-", stdout=full, stdin=subprocess.PIPE)
            _, err = process.communicate(b"6*7", timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"No space left", err)

    def test_every_command_says_that_it_cannot_write(self):
        self.put("value.py", "6*7")
        for arguments in (["--version"], ["--help"], ["doctor"], ["check", "value.py"]):
            with open("/dev/full", "wb") as full:
                done = self.caisson(*arguments, stdout=full)
            self.assertEqual(done.status, 2, arguments)
            self.assertIn(b"cannot write to stdout", done.err, arguments)

    def test_stdout_that_does_not_block(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        process = self.start("run", "--limit", "stdout_bytes=1000000", "-", stdout=writer, stdin=subprocess.PIPE)
        os.close(writer)
        process.stdin.write(b"print('x' * 500_000)")
        process.stdin.close()
        process.stdin = None
        with open(reader, "rb") as pipe:
            self.assertEqual(len(pipe.read()), 500_001)
        self.assertEqual(process.wait(harness.PATIENCE), 0)


if __name__ == "__main__":
    harness.run_suite(__main__)
