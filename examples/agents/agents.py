"""Talks to both agents of caisson.toml. Standard library only.

    python3 agents.py CAISSON            the path of the program, by default caisson
"""

import subprocess
import sys


def chat(agent, text):
    """Returns what the agent says. Calls are approved beforehand."""
    program = sys.argv[1] if len(sys.argv) > 1 else "caisson"
    done = subprocess.run([program, "chat", agent, "--config", "caisson.toml", "--approve", "all"],
                          input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return done.stdout


print(chat("analyst", "compute a sum\n"), end="")
print(chat("analyst", "send a note\n"), end="")
print(chat("clerk", "send a note\n"), end="")
