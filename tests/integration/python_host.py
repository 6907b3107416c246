"""Runs a program under plain python3 with the tool that the tests answer: `answer(text) -> int`."""

import sys


class Answer(int):
    """A number that can be awaited, as calls of tools can in a cell."""

    def __await__(self):
        return int(self)
        yield


def answer(text):
    return Answer(sum(text.encode()) * 31 % 97)


with open(sys.argv[1]) as file:
    source = file.read()
del sys.argv[0]
exec(compile(source, "main.py", "exec"), {"__name__": "__main__", "answer": answer})
