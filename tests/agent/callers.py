"""Each turn acts for its own caller: the variables of another user never reach a tool."""

import __main__
import concurrent.futures
import hashlib
import json

import agents
import harness
import serve

USERS = 64
TURNS = 2
SHOW = """#!/bin/sh
cat > /dev/null
env | grep '^CAISSON_SESSION_' | sort | awk '{ gsub(/"/, "\\\\\\""); lines = lines $0 "|" } END { print "\\"" lines "\\"" }'
"""
TOOL = """
[[tool]]
name = "whoami"
kind = "command"
command = ["./show.sh"]
"""
ASK = "```python\nprint(whoami())\n```"


def key_of(number):
    return hashlib.sha256(f"key of user {number}".encode()).hexdigest()


def identities():
    keys = "".join(f'[[identity.key]]\ntenant = "acme"\nuser = "user-{number:02}"\n'
                   f'sha256 = "{hashlib.sha256(key_of(number).encode()).hexdigest()}"\n' for number in range(USERS))
    return '[identity]\nmode = "keys"\n' + keys


class Callers(serve.Serve):
    def setUp(self):
        super().setUp()
        self.put("show.sh", SHOW)
        (self.work / "show.sh").chmod(0o755)
        self.process = self.serve(serve.MEMORY + identities() + TOOL + agents.DEMO_MODEL +
                                  agents.agent("coder", tools=["whoami"]) +
                                  agents.agent("caller", tools=["whoami"], code=False))

    def seen_by(self, number, ask):
        """The variables that the tool prints in the turns of one user."""
        client = agents.Client(self.port, key_of(number))
        seen = []
        for turn in range(TURNS):
            text = ask(client)
            seen.append(dict(pair.split("=", 1) for pair in text[text.index("CAISSON_SESSION_"):].strip("\"'\n").split("|")
                             if pair.startswith("CAISSON_SESSION_")))
        client.close()
        return seen

    def everybody_asks(self, ask):
        with concurrent.futures.ThreadPoolExecutor(USERS) as pool:
            everybody = list(pool.map(lambda number: self.seen_by(number, ask), range(USERS)))
        for number, turns in enumerate(everybody):
            for variables in turns:
                mine = f"user-{number:02}"
                self.assertEqual(variables["CAISSON_SESSION_USER_ID"], mine, variables)
                others = [other for other in range(USERS) if other != number and f"user-{other:02}" in str(variables)]
                self.assertEqual(others, [], variables)

    def test_a_tool_that_code_calls_sees_its_own_user(self):
        self.everybody_asks(lambda client: agents.text_of(client.respond("coder", ASK)))
        self.stop(self.process)

    def test_a_tool_that_the_model_calls_sees_its_own_user(self):
        self.everybody_asks(lambda client: agents.text_of(client.respond("caller", "call whoami {}")))
        self.stop(self.process)

    def test_a_background_turn_acts_for_its_own_user(self):
        def ask(client):
            response = client.respond("coder", ASK, background=True)

            def ended():
                nonlocal response
                response = json.loads(client.send("GET", f"/v1/responses/{response['id']}").read())
                return response["status"] not in ("queued", "in_progress")
            self.wait_until(ended, "the background turn ends")
            return agents.text_of(response)
        self.everybody_asks(ask)
        self.stop(self.process)


if __name__ == "__main__":
    harness.run_suite(__main__)
