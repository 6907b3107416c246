# What an agent does between two tool calls: small snippets, freshly compiled, on records from a tool.
import json

SNIPPETS = [
    "1+1",
    "print('hi')",
    "x = [i * i for i in range(20)]\nprint(sum(x))",
    "def f(a, b=2):\n    return a * b\nprint(f(3), f(4, b=5))",
    "import json\nd = json.loads('{\"a\": [1, 2, {\"b\": null}]}')\nprint(d['a'][2])",
    "total = 0\nfor row in rows:\n    if row['status'] == 'open' and row['amount'] > 50:\n        total += row['amount']\nprint(total)",
    "best = max(rows, key=lambda r: r['amount'])\nprint(f\"{best['id']}: {best['amount']:.2f}\")",
    "by = {}\nfor r in rows:\n    by.setdefault(r['status'], []).append(r['id'])\nprint({k: len(v) for k, v in by.items()})",
    "try:\n    rows[10**6]\nexcept IndexError as e:\n    print('no', e)",
    "class P:\n    def __init__(self, n): self.n = n\n    def __str__(self): return f'<{self.n}>'\nprint(*[P(i) for i in range(5)])",
    "import re\nprint(re.findall(r'\\d+', 'a1b22c333'))",
    "text = ', '.join(sorted({r['status'] for r in rows}))\nprint(text.upper(), len(text))",
    "from datetime import date\nprint((date(2024, 5, 1) - date(2023, 5, 1)).days)",
    "result = [dict(r, amount=round(r['amount'] * 1.19, 2)) for r in rows if r['id'] % 2]\nresult[:2]",
    "while True:\n    rows = rows[: len(rows) // 2]\n    if not rows: break\nprint('done')",
]

output = []
for turn in range(12):
    rows = [{"id": i, "status": ("open", "closed", "new")[(i + turn) % 3], "amount": i * 7.25 % 113} for i in range(40)]
    answer = json.dumps(rows)
    for source in SNIPPETS:
        space = {"__name__": "__main__", "rows": json.loads(answer), "print": lambda *a: output.append(" ".join(map(str, a)))}
        exec(compile(source, "<run>", "exec"), space)
print(len(output), output[3], output[-1])
