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

    def test_a_file_that_is_not_there(self):
        self.assertEqual(self.caisson("config", "check", "--config", "none.toml").status, 2)


if __name__ == "__main__":
    harness.run_suite(__main__)
