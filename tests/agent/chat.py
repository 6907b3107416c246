"""`caisson chat`: turns with an agent at a terminal and from a pipe."""

import __main__
import json
import signal

import agents
import harness
import repl

CONFIG = agents.DEMO_MODEL + agents.agent("coder") + agents.agent("writer", code=False)


class Piped(harness.CliTest):
    def chat(self, text, *arguments, **options):
        return self.caisson("chat", *arguments, code=text, **options)

    def test_one_line_is_one_turn(self):
        done = self.chat("hello\ncompute a sum\n\nand again hello", "--demo")
        self.assertEqual(done.status, 0, done)
        lines = done.out.decode().splitlines()
        self.assertEqual(lines[0], "You said: hello", done)
        self.assertIn("The result is: The squares of 1 to 10", done.out.decode(), done)
        self.assertEqual(lines[-1], "You said: and again hello", done)

    def test_the_code_and_its_output_go_to_stderr(self):
        done = self.chat("compute a sum\n", "--demo")
        err = done.err.decode()
        self.assertLess(err.index("--- code\n"), err.index("total = sum(n * n for n in range(1, 11))\n"))
        self.assertLess(err.index("--- output\n"), err.index("385"))
        self.assertNotIn("total", done.out.decode().replace("The result is", ""))

    def test_files_of_the_code_are_named(self):
        self.assertIn(b"--- file /output/report.csv (", self.chat("write a report file\n", "--demo").err)

    def test_turns_follow_each_other(self):
        # The demo counts the calls of the whole conversation in their ids.
        done = self.chat("compute\ncompute\n", "--demo", "--json")
        turns = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual([turn["state"] for turn in turns if turn["event"] == "turn"], ["completed"] * 2)
        self.assertEqual(len({turn["id"] for turn in turns if turn["event"] == "turn"}), 2)

    def test_json_has_pieces_whole_items_and_the_end(self):
        done = self.chat("compute a sum\n", "--demo", "--json")
        events = [json.loads(line) for line in done.out.splitlines()]
        code = "".join(event["text"] for event in events if event["event"] == "code")
        items = [event["item"] for event in events if event["event"] == "done"]
        self.assertEqual([item["type"] for item in items], ["code", "message"], events)
        self.assertEqual((items[0]["code"], items[0]["status"]), (code, "completed"))
        self.assertEqual(events[-1]["event"], "turn")
        self.assertEqual(done.err, b"")

    def test_without_a_terminal_a_call_that_needs_approval_is_denied(self):
        done = self.chat("send an email\nhello\n", "--demo", start_new_session=True)
        self.assertIn(b"ApprovalDenied", done.out + done.err, done)
        self.assertNotIn(b"sent to", done.out, done)
        self.assertTrue(done.out.endswith(b"You said: hello\n"), done)

    def test_approvals_can_be_given_or_denied_beforehand(self):
        self.assertIn(b"sent to", self.chat("send an email\n", "--demo", "--approve", "all").out)
        denied = self.chat("send an email\n", "--demo", "--approve", "none")
        self.assertNotIn(b"sent to", denied.out, denied)
        self.assertIn(b"denied by --approve none", denied.out + denied.err, denied)

    def test_a_turn_that_fails_sets_the_exit_status_and_the_chat_goes_on(self):
        done = self.chat("fail\nhello\n", "--demo")
        self.assertEqual(done.status, 1, done)
        self.assertIn(b"caisson: the model failed", done.err)
        self.assertTrue(done.out.endswith(b"You said: hello\n"), done)

    def test_agents_are_chosen_by_name(self):
        self.put("caisson.toml", CONFIG)
        self.assertEqual(self.chat("hello\n", "writer", "--config", "caisson.toml").out, b"You said: hello\n")
        unknown = self.chat("", "riter", "--config", "caisson.toml")
        self.assertEqual((unknown.status, unknown.out), (2, b""))
        self.assertIn(b'there is no agent "riter"; did you mean "writer"?; the agents are coder, writer', unknown.err)
        self.assertIn(b"name the agent to talk to", self.chat("", "--config", "caisson.toml").err)

    def test_without_an_agent_it_says_what_to_do(self):
        done = self.chat("")
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertIn(b"--demo", done.err)


class AtATerminal(repl.Terminal):
    COMMAND, PROMPT = "chat", b"> "

    def setUp(self):
        super().setUp()
        self.open("--demo")

    def test_text_streams_and_the_prompt_returns(self):
        self.type(b"hello\n")
        self.expect(b"You said: hello")
        self.expect(b"> ")
        self.type(b"\x04")
        self.assertEqual(self.process.wait(harness.PATIENCE), 0)

    def test_an_interrupt_ends_the_turn_and_keeps_the_chat(self):
        self.type(b"slow 60\n")
        self.expect(b"tick")
        self.process.send_signal(signal.SIGINT)
        self.expect(b"> ")
        self.type(b"hello\n")
        self.expect(b"You said: hello")

    def test_a_person_approves_at_the_terminal(self):
        self.type(b"send an email\n")
        self.expect(b"allow this call? [y/N] ")
        self.type(b"y\n")
        self.expect(b"sent to")
        self.expect(b"> ")

    def test_a_person_denies_at_the_terminal(self):
        self.type(b"send an email\n")
        self.expect(b"allow this call? [y/N] ")
        self.type(b"n\n")
        self.expect(b"ApprovalDenied")
        self.expect(b"> ")

    def test_an_interrupt_at_a_question_returns_to_the_prompt(self):
        self.type(b"send an email\n")
        self.expect(b"allow this call? [y/N] ")
        self.process.send_signal(signal.SIGINT)
        self.expect(b"> ")
        self.type(b"hello\n")
        self.expect(b"You said: hello")

    def test_a_terminate_signal_ends_it(self):
        self.type(b"slow 60\n")
        self.expect(b"tick")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(harness.PATIENCE), 0)


if __name__ == "__main__":
    harness.run_suite(__main__)
