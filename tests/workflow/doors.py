"""Workflows behind /v1/responses and /responses: questions, approvals and owners, and a server that
is killed while a workflow waits."""

import __main__
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import harness  # noqa: E402
import serve  # noqa: E402

STORE = '[store]\nurl = "sqlite:flow.db"\n[runs]\nlease_seconds = 1\n'
WORKFLOW = '[[workflow]]\nname = "flow"\nfile = "flow.toml"\n'
FLOW = """
name = "flow"
start = "draft"
[[executor]]
id = "draft"
kind = "code"
code = '''
import json
with open("/input/inputs.json") as file:
    text = json.load(file)["message"]
"draft of " + text
'''
[[executor]]
id = "ask"
kind = "request"
prompt = "To whom?"
output = "string"
[[executor]]
id = "send"
kind = "tool"
tool = "send"
arguments = { to = { "$message" = "" } }
[[edge]]
from = "draft"
to = "ask"
[[edge]]
from = "ask"
to = "send"
"""


class Doors(serve.Serve):
    def begin(self, more=""):
        self.put("flow.toml", FLOW)
        self.put("send.sh", "#!/bin/sh\ncat >> sent; echo >> sent\necho '\"sent\"'\n")
        (self.work / "send.sh").chmod(0o755)
        self.kept |= {"sent", "flow.db", "flow.db-shm", "flow.db-wal", "flow.db.keys"}
        return self.serve(STORE + more + serve.SEND + WORKFLOW)

    def respond(self, status=200, path="/v1/responses", key=None, **body):
        answer = self.ask("POST", path, {"model": "flow", **body}, key)
        self.assertEqual(answer.status, status, answer)
        return answer.json

    @staticmethod
    def items(response, kind):
        return [item for item in response["output"] if item["type"] == kind]

    def test_a_question_and_an_approval_through_responses(self):
        for path in ("/v1/responses", "/responses"):
            process = self.begin()
            asked = self.respond(path=path, input="the report")
            call = self.items(asked, "function_call")[0]
            self.assertEqual(call["name"], "request_info")
            self.assertEqual(json.loads(call["arguments"])["message"], "draft of the report")
            answer = [{"type": "function_call_output", "call_id": call["call_id"], "output": "ann"}]
            self.respond(400, path=path, input="ann", previous_response_id=asked["id"])

            process.kill()  # The question survives the server.
            process.wait()
            process = self.begin()
            gated = self.respond(path=path, input=answer, previous_response_id=asked["id"])
            request = self.items(gated, "mcp_approval_request")[0]
            self.assertEqual((request["name"], json.loads(request["arguments"])), ("send", {"to": "ann"}))
            self.assertFalse((self.work / "sent").exists())
            yes = [{"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": True}]
            done = self.respond(path=path, input=yes, previous_response_id=gated["id"])
            self.assertEqual(done["status"], "completed")
            self.assertEqual(self.items(done, "message")[0]["content"][0]["text"], "sent")
            self.respond(400, path=path, input=yes, previous_response_id=gated["id"])
            self.respond(400, path=path, input=answer, previous_response_id=asked["id"])
            self.assertEqual((self.work / "sent").read_text().count("ann"), 1)
            (self.work / "sent").unlink()
            self.stop(process)

    def test_two_owners(self):
        self.put("ann.key", serve.ANN + "\n")
        self.put("bob.key", serve.BOB + "\n")
        process = self.begin(serve.KEYS)
        asked = self.respond(key=serve.ANN, input="x")
        call = self.items(asked, "function_call")[0]
        answer = [{"type": "function_call_output", "call_id": call["call_id"], "output": "bob"}]
        foreign = self.respond(404, key=serve.BOB, input=answer, previous_response_id=asked["id"])
        missing = self.respond(404, key=serve.BOB, input=answer, previous_response_id="resp_" + "0" * 26)
        self.assertEqual({**foreign["error"], "message": ""}, {**missing["error"], "message": ""})
        self.assertEqual(len(self.respond(key=serve.ANN, input=answer, previous_response_id=asked["id"])["output"]), 1)
        self.stop(process)

    def test_a_user_interface_is_told_what_workflows_do_not_have(self):
        process = self.begin()
        body = {"threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [], "forwardedProps": {},
                "messages": [{"id": "m1", "role": "user", "content": "the report"}]}
        answer = self.ask("POST", "/agui/flow", body, headers={"Accept": "text/event-stream"})
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("workflows have no background turns", answer.json["detail"])
        self.stop(process)


if __name__ == "__main__":
    harness.run_suite(__main__)
