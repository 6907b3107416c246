"""`caisson repl`: one session, statement by statement."""

import os
import pty
import select
import signal
import subprocess
import time

import harness


class Repl(harness.CliTest):
    def repl(self, text, *arguments):
        return self.caisson("repl", "--policy", "open", *arguments, code=text)

    def test_statements_share_their_variables_imports_and_files(self):
        done = self.repl("import math\nx = 20\nopen('/tmp/n', 'w').write('1')\n"
                         "x + 1\nmath.floor(2.5)\nopen('/tmp/n').read()\n")
        self.assertEqual(done.out, b'1\n21\n2\n"1"\n')
        self.assertEqual(done.status, 0)

    def test_blocks_brackets_and_strings_go_over_several_lines(self):
        done = self.repl("def f(n):\n    if n:\n        return [n,\n 2]\n\nf(1)\nx = '''a\n\nb'''\nx\n")
        self.assertEqual(done.out, b'[1,2]\n"a\\n\\nb"\n')

    def test_an_unfinished_statement_at_the_end_is_run(self):
        self.assertEqual(self.repl("for i in range(2):\n    print(i)").out, b"0\n1\n")

    def test_an_exception_does_not_end_the_session(self):
        done = self.repl("x = 1\n1/0\nx\n")
        self.assertEqual(done.out, b"1\n")
        self.assertIn(b"ZeroDivisionError", done.err)
        self.assertEqual(done.status, 0)

    def test_a_session_lost_to_a_limit_is_reported(self):
        done = self.repl("x = 1\nwhile True: pass\n\n'x' in globals()\n", "--limit", "wall_seconds=0.3")
        self.assertIn(b"limit reached: wall_time", done.err)
        self.assertIn(b"the session is lost", done.err)
        self.assertEqual(done.out, b"false\n")

    def test_refused_code_leaves_the_session_alone(self):
        done = self.caisson("repl", code="x = 5\neval('x')\nx\n")
        self.assertIn(b"caisson: refused, line 1", done.err)
        self.assertEqual(done.out, b"5\n")

    def test_people_leave_as_they_leave_python(self):
        for farewell in ("exit", "exit()", "quit", "quit()"):
            done = self.repl(f"1\n{farewell}\n2\n")
            self.assertEqual((done.status, done.out, done.err), (0, b"1\n", b""), farewell)

    def test_bad_options_are_told(self):
        self.assertEqual(self.repl("1\n", "--limit", "nonsense=1").status, 2)
        self.assertEqual(self.repl("1\n", "--approve", "perhaps").status, 2)


class Terminal(harness.CliTest):
    """A pseudo-terminal, as a person has."""

    COMMAND, PROMPT = "repl", b">>> "

    def open(self, *arguments):
        self.ours, theirs = pty.openpty()
        self.addCleanup(os.close, self.ours)

        def own_terminal():
            harness.without_signals()
            # The first terminal that a session leader opens becomes its controlling terminal:
            # /dev/tty.
            os.close(os.open(os.ttyname(theirs), os.O_RDWR))
        self.process = subprocess.Popen([harness.PROGRAM, self.COMMAND, *arguments], stdin=theirs, stdout=theirs,
                                        stderr=theirs, start_new_session=True, cwd=self.work, preexec_fn=own_terminal)
        os.close(theirs)
        self.shown = b""
        self.expect(self.PROMPT)

    def tearDown(self):
        self.process.kill()
        self.process.wait()
        super().tearDown()

    def expect(self, text):
        """Reads until `text` has been shown, and drops everything up to there."""
        end = time.monotonic() + harness.PATIENCE
        while text not in self.shown:
            ready, _, _ = select.select([self.ours], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, f"waited in vain for {text!r}; have {self.shown!r}")
            try:
                self.shown += os.read(self.ours, 4096)
            except OSError:
                self.fail(f"ended without {text!r}; have {self.shown!r}")
        self.shown = self.shown.split(text, 1)[1]

    def type(self, text):
        os.write(self.ours, text)


class AtATerminal(Terminal):
    def setUp(self):
        super().setUp()
        self.open("--policy", "open")

    def test_prompts_and_the_end(self):
        self.type(b"if True:\n")
        self.expect(b"... ")
        self.type(b"    6 * 7\n\n")
        self.expect(b">>> ")
        self.type(b"6 * 7\n")
        self.expect(b"42")
        self.expect(b">>> ")
        self.type(b"\x04")
        self.assertEqual(self.process.wait(harness.PATIENCE), 0)

    def test_an_interrupt_clears_what_was_typed(self):
        self.type(b"x = (1,\n")
        self.expect(b"... ")
        self.process.send_signal(signal.SIGINT)
        self.expect(b">>> ")
        self.type(b"'fresh'\n")
        self.expect(b'"fresh"')

    def test_an_interrupt_ends_what_runs_and_says_that_the_session_is_lost(self):
        self.type(b"print('on'); exec('while True: pass')\n")
        self.expect(b"on\r\n")
        self.process.send_signal(signal.SIGINT)
        self.expect(b"cancelled")
        self.expect(b"session is lost")
        self.expect(b">>> ")
        self.type(b"1 + 1\n")
        self.expect(b"2\r\n")

    def test_a_terminate_signal_ends_it(self):
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(harness.PATIENCE), 0)


class Asked(Terminal):
    """Statements whose calls need the person's approval."""

    def setUp(self):
        super().setUp()
        self.put("send.sh", "#!/bin/sh\ncat >> sent\necho '\"sent\"'\n")
        (self.work / "send.sh").chmod(0o755)
        self.put("caisson.toml", '[[tool]]\nname = "send"\nkind = "command"\ncommand = ["./send.sh"]\napproval = "always"\n'
                 'input_schema = { type = "object", properties = { to = { type = "string" } } }\n')
        self.kept.add("sent")
        self.open("--config", "caisson.toml")

    def ask(self):
        self.type(b"send(to='ann')\n")
        self.expect(b"allow this call? [y/N] ")

    def test_an_interrupt_gives_up_one_statement_and_no_later_question(self):
        self.type(b"print('on'); import time; time.sleep(30)\n")
        self.expect(b"on\r\n")
        self.type(b"\x03")
        self.expect(b"session is lost")
        self.expect(b">>> ")
        for _ in range(2):
            self.ask()
            self.type(b"y\n")
            self.expect(b'"sent"')
            self.expect(b">>> ")
            self.ask()
            self.type(b"\x03")  # This time the question is cancelled.
            self.expect(b"session is lost")
            self.expect(b">>> ")

    def test_text_typed_before_a_question_is_no_answer_to_it(self):
        self.type(b"send(to='ann')\ny\n")
        self.expect(b"allow this call? [y/N] ")
        self.type(b"n\n")
        self.expect(b"ApprovalDenied")
        self.assertFalse((self.work / "sent").exists())

    def test_an_interrupt_gives_up_all_questions_of_its_statement(self):
        self.type(b"import asyncio\n")
        self.expect(b">>> ")
        self.type(b"await asyncio.gather(send(to='ann'), send(to='bob'))\n")
        self.expect(b"allow this call? [y/N] ")
        self.type(b"\x03")
        self.expect(b"session is lost")
        self.expect(b">>> ")
        self.assertFalse((self.work / "sent").exists())


if __name__ == "__main__":
    harness.run_suite(__name__)
