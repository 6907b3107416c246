#!/usr/bin/env python3
"""A tool: appends the text to the file "sent"."""
import json
import sys

asked = json.load(sys.stdin)
with open("sent", "a") as file:
    print(f"to {asked['to']}: {asked['text']}", file=file)
json.dump("sent", sys.stdout)
