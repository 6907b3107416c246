import re
from typing import NamedTuple


class Token(NamedTuple):
    kind: str
    text: str
    position: int


PATTERN = re.compile(r"(?P<number>\d+(\.\d+)?)|(?P<op>[-+*/()])|(?P<space>\s+)|(?P<error>.)")


def tokenize(text):
    for m in PATTERN.finditer(text):
        kind = m.lastgroup if m.lastgroup in ("number", "op", "space") else "error"
        if kind == "error":
            raise SyntaxError(f"bad character {m.group()!r} at {m.start()}")
        if kind != "space":
            yield Token(kind, m.group(), m.start())


class Parser:
    def __init__(self, text):
        self.tokens = list(tokenize(text))
        self.pos = 0

    def peek(self):
        return self.tokens[self.pos] if self.pos < len(self.tokens) else None

    def take(self, *texts):
        token = self.peek()
        if token and (not texts or token.text in texts):
            self.pos += 1
            return token
        return None

    def expr(self):
        value = self.term()
        while token := self.take("+", "-"):
            value = value + self.term() if token.text == "+" else value - self.term()
        return value

    def term(self):
        value = self.factor()
        while token := self.take("*", "/"):
            value = value * self.factor() if token.text == "*" else value / self.factor()
        return value

    def factor(self):
        if self.take("("):
            value = self.expr()
            if not self.take(")"):
                raise SyntaxError("missing )")
            return value
        if self.take("-"):
            return -self.factor()
        token = self.take()
        return float(token.text)


Parser("2 * (3 + 4) - 10 / -4").expr()
