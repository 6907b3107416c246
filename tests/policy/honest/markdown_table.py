rows = [
    {"name": "Ann", "score": 91.5, "passed": True},
    {"name": "Bob", "score": 47.25, "passed": False},
]


def table(rows, columns=None):
    columns = columns or list(rows[0])
    cell = lambda v: "yes" if v is True else "no" if v is False else f"{v:.1f}" if isinstance(v, float) else str(v)
    body = [[cell(row.get(c, "")) for c in columns] for row in rows]
    widths = [max(len(c), *(len(r[i]) for r in body)) for i, c in enumerate(columns)]
    line = lambda cells: "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths)) + " |"
    return "\n".join([line(columns), line(["-" * w for w in widths]), *map(line, body)])


print(table(rows))
