"""examples/foundry-hosted keeps the container contract: the port, identities of the platform, readiness, and the drain."""

import __main__
import json
import pathlib
import signal

import agents
import harness
import serve

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/foundry-hosted/caisson.toml"
HOSTED = {"FOUNDRY_HOSTING_ENVIRONMENT": "1", "FOUNDRY_AGENT_NAME": "analyst"}
ANN = {"x-agent-user-id": "ann", "x-agent-foundry-call-id": "call-1"}
BODY = {"model": "analyst", "input": "hello"}


class Foundry(serve.Serve):
    def serve_hosted(self, config=None, listen="127.0.0.1:0", **variables):
        text = config or EXAMPLE.read_text().replace("sqlite:/data/caisson.db", "memory:")
        self.put("caisson.toml", text)
        arguments = ["--listen", listen] if listen else []
        return self.start("serve", "--config", "caisson.toml", *arguments, variables={**HOSTED, **variables},
                          preexec_fn=harness.without_signals)

    def await_port(self, process):
        line = process.stdout.readline().decode()
        self.assertTrue(line.startswith("listening on "), (line, process.stderr.read() if not line else ""))
        self.port = int(line.rsplit(":", 1)[1])

    def test_users_of_the_platform_are_answered_and_nobody_else(self):
        process = self.serve_hosted()
        self.await_port(process)
        answer = self.ask("POST", "/responses", BODY, headers=ANN)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(agents.text_of(answer.json), "You said: hello")
        self.assertTrue(answer.json["id"].startswith("caresp_"), answer)
        for missing in ANN:
            refused = self.ask("POST", "/responses", BODY, headers={k: v for k, v in ANN.items() if k != missing})
            self.assertIn(refused.status, (400, 401, 403), refused)
        self.assertEqual(self.ask("GET", "/readiness").status, 200)
        bob = {**ANN, "x-agent-user-id": "bob"}
        foreign = self.ask("GET", f"/responses/{answer.json['id']}", headers=bob)
        self.assertEqual(foreign.status, 404, foreign)
        said = self.ask("POST", "/invocations", {"message": "hello"}, headers=ANN)
        self.assertEqual((said.status, said.body), (200, b"You said: hello"))
        self.stop(process)

    def test_a_request_under_way_is_finished_at_the_end(self):
        process = self.serve_hosted()
        self.await_port(process)
        client = agents.Client(self.port)
        client.headers.update(ANN)
        client.connection.request("POST", "/responses", json.dumps({"model": "analyst", "input": "slow 1", "stream": True}),
                                  client.headers)
        response = client.connection.getresponse()
        events = agents.read_events(response)
        next(events)
        process.send_signal(signal.SIGTERM)
        last = [event["type"] for event in events][-1]
        self.assertEqual(last, "response.completed")
        client.close()
        self.assertEqual(process.wait(harness.PATIENCE), 0)

    def test_a_hosted_container_that_mixes_users_without_identity_does_not_start(self):
        process = self.serve_hosted(agents.DEMO_MODEL + agents.agent("a") + "[identity]\nstrict_isolation = false\n")
        _, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, 2, err)
        self.assertIn(b"identity.strict_isolation", err)

    def test_a_wrong_port_ends_the_start(self):
        process = self.serve_hosted(listen=None, PORT="80x")
        _, err = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual(process.returncode, 2, err)
        self.assertIn(b"PORT", err)


if __name__ == "__main__":
    harness.run_suite(__main__)
