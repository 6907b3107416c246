"""Serves agents for tests, and talks to them over the Responses API."""

import http.client
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import harness  # noqa: E402
import serve  # noqa: E402

DEMO_MODEL = """
[[model]]
name = "scripted"
kind = "demo"
"""


def agent(name, **keys):
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"name": name, "model": "scripted", **keys}.items()]
    return "[[agent]]\n" + "\n".join(lines) + "\n"


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message"
                   for part in item["content"] if part["type"] == "output_text")


def approvals_of(response):
    return [item for item in response["output"] if item["type"] == "mcp_approval_request"]


def answers_to(response, approve=True):
    """The input of the turn that answers everything that this one asks."""
    return [{"type": "mcp_approval_response", "approval_request_id": item["id"], "approve": approve}
            for item in approvals_of(response)]


def read_events(response):
    """Yields the JSON of each server-sent event."""
    data = b""
    for line in response:
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data += line[5:].strip()
        elif not line and data:
            if data != b"[DONE]":
                yield json.loads(data)
            data = b""


class Client:
    """One user's connection, which is kept open."""

    def __init__(self, port, key=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.PATIENCE)
        self.headers = {"Content-Type": "application/json"}
        if key:
            self.headers["Authorization"] = "Bearer " + key

    def send(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body), self.headers)
        return self.connection.getresponse()

    def respond(self, agent, input, **more):
        response = self.send("POST", "/v1/responses", {"model": agent, "input": input, **more})
        body = response.read()
        if response.status != 200:
            raise AssertionError(f"{response.status} {body!r}")
        return json.loads(body)

    def stream(self, agent, input, **more):
        """Returns the text of all deltas, and the last response."""
        response = self.send("POST", "/v1/responses", {"model": agent, "input": input, "stream": True, **more})
        if response.status != 200:
            raise AssertionError(f"{response.status} {response.read()!r}")
        text, last = "", None
        for event in read_events(response):
            if event["type"] == "response.output_text.delta":
                text += event["delta"]
            last = event.get("response", last)
        return text, last

    def close(self):
        self.connection.close()
