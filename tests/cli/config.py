"""caisson config: mistakes with their lines, and the file without its secrets."""

import __main__

import harness


class Config(harness.CliTest):
    def test_a_file_without_mistakes(self):
        self.put("caisson.toml", "[limits]\nwall_seconds = 5\n")
        done = self.caisson("config", "check")
        self.assertEqual((done.status, done.out), (0, b"caisson.toml: no mistakes\n"), done)

    def test_every_mistake_has_its_line(self):
        self.put("bad.toml", "[limits]\nwall = 5\n[server]\nlissten = 1\n")
        for command in ("check", "print"):
            done = self.caisson("config", command, "--config", "bad.toml")
            self.assertEqual((done.status, done.out), (2, b""), done)
            self.assertIn(b"bad.toml:2", done.err)
            self.assertIn(b"bad.toml:4", done.err)

    def test_what_is_printed_has_no_secrets_and_is_a_configuration(self):
        self.put("caisson.toml", '[store]\nurl = "postgres://ann:hunter2@db/x"\n[[tool]]\nname = "send"\n'
                                 'kind = "command"\ncommand = ["./send"]\nenv = { TOKEN = "hunter2" }\n')
        done = self.caisson("config", "print")
        self.assertEqual(done.status, 0, done)
        self.assertNotIn(b"hunter2", done.out + done.err)
        self.put("again.toml", done.out)
        self.assertEqual(self.caisson("config", "print", "--config", "again.toml").out, done.out)

    def test_what_a_start_would_refuse_is_found_in_the_order_of_the_file(self):
        self.put("bad.toml", """[[tool]]
name = "a b"
kind = "command"
command = ["x"]
[[tool]]
name = "b"
kind = "command"
command = ["x"]
input_schema = { type = "objct" }
[[tool]]
name = "execute_code"
kind = "command"
command = ["x"]
[[tool]]
name = "call_tool"
kind = "command"
command = ["x"]
[[mount]]
host = "nowhere"
guest = "/input"
[limits]
wall_seconds = 1000000
memory_bytes = "x"
[server]
lissten = 1
""")
        done = self.caisson("config", "check", "--config", "bad.toml")
        self.assertEqual(done.status, 2, done)
        lines = done.err.decode().removeprefix("caisson: ").splitlines()
        expected = ((1, "a b"), (5, "object"), (10, "execute_code"), (14, "call_tool"), (18, "no such directory"),
                    (22, "at most 300"), (23, "x"), (25, "lissten"))
        self.assertEqual(len(lines), len(expected), done)
        for line, (number, words) in zip(lines, expected):
            self.assertTrue(line.startswith(f"bad.toml:{number}: "), line)
            self.assertIn(words, line)

    def test_a_file_that_is_not_there(self):
        self.assertEqual(self.caisson("config", "check", "--config", "none.toml").status, 2)


if __name__ == "__main__":
    harness.run_suite(__main__)
