"""An MCP server that adds a tool whenever its first tool is called."""

import json
import sys

tools = ["grow"]


def send(**fields):
    print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}},
                  "serverInfo": {"name": "growing", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
    else:
        tools.append(f"new_{len(tools)}")
        send(method="notifications/tools/list_changed")
        result = {"content": []}
    send(id=message["id"], result=result)
