"""Two replicas on one PostgreSQL: a turn begins on one, is approved on the other, and the first is killed at each step. The
turn finishes, and each effect happens at most once."""

import __main__
import json
import time

import agents
import harness
import replicas

AGENTS = agents.DEMO_MODEL + agents.agent("coder", tools=["free", "gated"]) + agents.agent(
    "caller", tools=["gated"], code=False)
CODE = "```python\nprint(free(id='a'))\nprint(gated(id='b'))\nprint(free(id='c'))\n```"
CALL = 'call gated {"id": "b"}'
# Milliseconds after the start of a background turn: its steps take a few milliseconds each.
MOMENTS = (0, 2, 4, 7, 10, 15, 20, 30, 50, 80, 150, 300)


class TurnReplicas(replicas.Replicas):
    def setUp(self):
        super().setUp()
        self.postgres = replicas.Postgres()
        self.first, self.first_port = self.start_replica()
        self.second, self.second_port = self.start_replica()

    def start_replica(self):
        return self.serve_on(self.postgres.url, replicas.LEASE + AGENTS)

    def tearDown(self):
        for process in (self.first, self.second):
            self.discard(process)
        self.postgres.stop()
        super().tearDown()

    def on(self, port):
        client = agents.Client(port)
        self.addCleanup(client.close)
        return client

    def await_turn(self, client, id):
        response = None

        def ended():
            nonlocal response
            answer = client.send("GET", f"/v1/responses/{id}")
            response = json.loads(answer.read())
            return answer.status == 200 and response["status"] not in ("queued", "in_progress")
        self.wait_until(ended, f"the turn {id} ends or waits")
        return response

    def approve_all(self, client, response, **more):
        """Answers until nothing is asked any more. Returns the last response."""
        while agents.approvals_of(response):
            response = client.respond("coder", agents.answers_to(response), previous_response_id=response["id"], **more)
            if response["status"] in ("queued", "in_progress"):
                response = self.await_turn(client, response["id"])
        return response

    def expect_each_effect_once(self, *ids):
        self.assertEqual(dict(self.effects()), {id: 1 for id in ids})

    def test_a_turn_that_waits_is_approved_on_the_other_replica(self):
        waiting = self.on(self.first_port).respond("coder", CODE)
        self.assertEqual(len(agents.approvals_of(waiting)), 1, waiting)
        self.kill(self.first)
        done = self.approve_all(self.on(self.second_port), waiting)
        self.assertEqual(done["status"], "completed", done)
        self.expect_each_effect_once("a", "b", "c")
        self.stop(self.second)

    def test_a_call_without_code_is_approved_on_the_other_replica(self):
        waiting = self.on(self.first_port).respond("caller", CALL)
        self.assertEqual(len(agents.approvals_of(waiting)), 1, waiting)
        self.kill(self.first)
        second = self.on(self.second_port)
        done = second.respond("caller", agents.answers_to(waiting), previous_response_id=waiting["id"])
        self.assertEqual(done["status"], "completed", done)
        self.expect_each_effect_once("b")
        self.stop(self.second)

    def test_both_replicas_live_and_the_other_one_approves(self):
        waiting = self.on(self.first_port).respond("coder", CODE)
        done = self.approve_all(self.on(self.second_port), waiting)
        self.assertEqual(done["status"], "completed", done)
        self.expect_each_effect_once("a", "b", "c")
        self.stop(self.first)
        self.stop(self.second)

    def test_a_background_turn_survives_a_kill_at_each_step_before_the_approval(self):
        for moment in MOMENTS:
            with self.subTest(moment=moment):
                self.kill_after(moment, lambda first: first.respond("coder", CODE, background=True))

    def test_a_background_turn_survives_a_kill_at_each_step_after_the_approval(self):
        for moment in MOMENTS:
            with self.subTest(moment=moment):
                def begin(first):
                    waiting = first.respond("coder", CODE)
                    return first.respond("coder", agents.answers_to(waiting), previous_response_id=waiting["id"],
                                         background=True)
                self.kill_after(moment, begin)

    def kill_after(self, milliseconds, begin):
        (self.work / "effects").unlink(missing_ok=True)
        response = begin(self.on(self.first_port))
        time.sleep(milliseconds / 1000)
        self.kill(self.first)
        second = self.on(self.second_port)
        done = self.approve_all(second, self.await_turn(second, response["id"]))
        self.assertEqual(done["status"], "completed", done)
        effects = self.effects()
        self.assertEqual({id for id, count in effects.items() if count > 1}, set(), "something happened twice")
        uncertain = "Uncertain" in json.dumps(done)
        if not uncertain:
            self.assertEqual(dict(effects), {"a": 1, "b": 1, "c": 1}, done)
        self.discard(self.first)
        self.first, self.first_port = self.start_replica()


if __name__ == "__main__":
    harness.run_suite(__main__)
