# Searching, splitting and substituting with re.
import re

log = "\n".join(f"2024-0{i % 9 + 1}-1{i % 9} 12:{i % 60:02d}:07 [{'INFO' if i % 4 else 'ERROR'}] user={i} ip=10.0.{i % 256}.{i * 7 % 256} took {i * 3}ms" for i in range(300))
pattern = re.compile(r"^(?P<date>\d{4}-\d\d-\d\d) (?P<time>[\d:]+) \[(?P<level>\w+)\] user=(\d+) ip=([\d.]+) took (\d+)ms$", re.M)
matches = list(pattern.finditer(log))
print(len(matches), sum(int(m[6]) for m in matches if m["level"] == "ERROR"), matches[5].groupdict())
print(len(re.findall(r"\b\d{1,3}(?:\.\d{1,3}){3}\b", log)), len(re.split(r"[\s=\[\]]+", log)))
print(re.sub(r"(\d+)ms", lambda m: f"{int(m[1]) / 1000:.3f}s", log)[:90])
print(re.sub(r"\s+", " ", "  many   spaces \t here  ").strip(), re.fullmatch(r"[\w.+-]+@[\w-]+\.[\w.]+", "a.b@c-d.org") is not None)
tokens = re.compile(r"\s*(?:(\d+\.?\d*)|(.))")


def evaluate(source):
    stream = [(n, o) for n, o in tokens.findall(source)] + [("", "")]
    position = 0

    def factor():
        nonlocal position
        number, operator = stream[position]
        position += 1
        if operator == "(":
            value = expression()
            position += 1
            return value
        return -factor() if operator == "-" else float(number)

    def term():
        nonlocal position
        value = factor()
        while stream[position][1] in ("*", "/") and stream[position][1]:
            operator = stream[position][1]
            position += 1
            value = value * factor() if operator == "*" else value / factor()
        return value

    def expression():
        nonlocal position
        value = term()
        while stream[position][1] in ("+", "-") and stream[position][1]:
            operator = stream[position][1]
            position += 1
            value = value + term() if operator == "+" else value - term()
        return value

    return expression()


for _ in range(40):
    result = evaluate("2 * (3 + 4.5) - 10 / (1 + 1) + -3 * (2 - 7)")
print(result, re.search(r"(a+)+b", "aaaaaaaaaaaab")[0], re.match(r"(?i)hello", "HeLLo")[0], re.escape("a.b*c"))
