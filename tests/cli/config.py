"""caisson config: reports mistakes with their lines, and shows the file without its secrets."""

import __main__

import harness


def tool(name, more=""):
    return f'[[tool]]\nname = "{name}"\nkind = "command"\ncommand = ["x"]\n{more}'


def mount(host, guest):
    return f'[[mount]]\nhost = "{host}"\nguest = "{guest}"\n'


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

    def test_the_printed_configuration_has_no_secrets_and_is_valid(self):
        self.put("caisson.toml", '[store]\nurl = "postgres://ann:hunter2@db/x"\n[[tool]]\nname = "send"\n'
                                 'kind = "command"\ncommand = ["./send"]\nenv = { TOKEN = "hunter2" }\n')
        done = self.caisson("config", "print")
        self.assertEqual(done.status, 0, done)
        self.assertNotIn(b"hunter2", done.out + done.err)
        self.put("again.toml", done.out)
        self.assertEqual(self.caisson("config", "print", "--config", "again.toml").out, done.out)

    def expect_mistakes(self, text, *expected):
        """Expects exactly these mistakes: each is a line and words of its message."""
        self.put("bad.toml", text)
        done = self.caisson("config", "check", "--config", "bad.toml")
        self.assertEqual(done.status, 2, done)
        lines = done.err.decode().removeprefix("caisson: ").splitlines()
        self.assertEqual(len(lines), len(expected), done)
        for line, (number, words) in zip(lines, expected):
            self.assertTrue(line.startswith(f"bad.toml:{number}: "), line)
            self.assertIn(words, line)

    def test_mistakes_that_a_start_would_refuse_are_found_in_the_order_of_the_file(self):
        self.expect_mistakes(
            tool("a b") + tool("b", 'input_schema = { type = "objct" }\n') + tool("execute_code") + tool("call_tool") +
            mount("nowhere", "/input") +
            '[limits]\nwall_seconds = 1000000\nmemory_bytes = "x"\n[server]\nlissten = 1\n',
            (1, "a b"), (5, "object"), (10, "execute_code"), (14, "call_tool"), (18, "no such directory"),
            (22, "the maximum is 300"), (23, "x"), (25, "lissten"))

    def test_every_mount_that_a_run_would_refuse_is_found_in_the_same_words(self):
        for name in ("a", "a/b", "c", "d", "store"):
            (self.work / name).mkdir()
        (self.work / "link").symlink_to("c")
        self.kept |= {"a", "a/b", "c", "d", "store", "link"}
        cases = ((mount("none", "/n"), "there is no such directory"),
                 (mount("link", "/n"), "it is a link"),
                 (mount("caisson.toml", "/n"), "it is not a directory"),
                 (mount("/proc", "/n"), "is, contains or is inside /proc, which must not be shown"),
                 (mount("store", "/n"), "is, contains or is inside store/runs.db, which must not be shown"),
                 (mount(".", "/n"), "is, contains or is inside store/runs.db, which must not be shown"),
                 (mount("c", "/usr"), "/usr is used by the cell itself"),
                 (mount("c", "/first/x"), "it overlaps the mount at /first"),
                 (mount("a/b", "/n"), "it overlaps a, which is mounted too"))
        first = '[store]\nurl = "sqlite:store/runs.db"\n' + mount("a", "/first")
        for case, words in cases:
            self.put("caisson.toml", first + case)
            with self.subTest(words):
                checked = self.caisson("config", "check")
                self.assertEqual(checked.status, 2, checked)
                for command in ("run", "repl"):
                    refused = self.caisson(command, "--config", "caisson.toml", code="1\n")
                    self.assertEqual(refused.status, 2, refused)
                    said = refused.err.decode().removeprefix("caisson: ")
                    self.assertIn(words, said)
                    self.assertEqual(checked.err.decode(), f"caisson: caisson.toml:6: mount[1]: {said}")
        # An invalid mount does not prevent the check of the others.
        self.expect_mistakes(first + mount("none", "/n") + mount("d", "/n/x") + mount("c", "/c") + mount("c", "/d"),
                             (6, "no such directory"), (9, "it overlaps the mount at /n"), (15, "it overlaps c"))
        self.put("caisson.toml", first + mount("c", "/c"))
        self.assertEqual(self.caisson("config", "check").status, 0)
        self.assertEqual(list((self.work / "store").iterdir()), [], "checking makes nothing")

    def test_a_file_that_is_not_there(self):
        for name, why in (("none.toml", "No such file"), (".", "Is a directory")):
            done = self.caisson("config", "check", "--config", name)
            self.assertEqual(done.status, 2)
            self.assertIn(f"cannot read the configuration file {name}: {why}", done.err.decode())


if __name__ == "__main__":
    harness.run_suite(__main__)
