# Dicts, lists, sets, tuples: grouping, counting, joining records.
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from itertools import accumulate, chain, combinations, groupby, islice, product
from operator import itemgetter

rows = [{"id": i, "team": "abcdef"[i % 6], "score": (i * 37) % 101, "tags": [f"t{i % 4}", f"t{i % 7}"]} for i in range(600)]
groups = defaultdict(list)
for row in rows:
    groups[row["team"]].append(row["score"])
summary = {team: {"n": len(s), "mean": sum(s) / len(s), "max": max(s), "min": min(s)} for team, s in groups.items()}
print(sorted(summary.items(), key=lambda kv: -kv[1]["mean"])[0])

tags = Counter(chain.from_iterable(row["tags"] for row in rows))
print(tags.most_common(3))
print({k: len(list(g)) for k, g in groupby(sorted(rows, key=itemgetter("team")), key=itemgetter("team"))})

index = {row["id"]: row for row in rows}
joined = [(index[i]["team"], index[i + 1]["team"]) for i in range(0, 500, 2) if i + 1 in index]
print(len(set(joined)), len({frozenset(p) for p in joined}))

Point = namedtuple("Point", "x y")
points = [Point(i % 13, i % 17) for i in range(400)]
print(sum(p.x * p.y for p in points), len(set(points)))

queue, seen = deque([(0, 0)]), {(0, 0)}
while queue:
    x, y = queue.popleft()
    for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        step = (x + dx, y + dy)
        if 0 <= step[0] < 25 and 0 <= step[1] < 25 and step not in seen:
            seen.add(step)
            queue.append(step)
print(len(seen))
print(list(islice(accumulate(range(50)), 40, 45)), sum(1 for _ in combinations(range(18), 3)), len(list(product("abc", repeat=4))))
order = OrderedDict((str(i), i) for i in range(50))
order.move_to_end("0")
order.pop("7")
stack = []
for i in range(2000):
    stack.append(i)
    if i % 3 == 0:
        stack.pop()
stack.insert(0, -1)
del stack[10:20]
stack.reverse()
print(len(stack), stack[:3], 55 in stack, stack.index(44), stack.count(1), list(order)[-1])
nested = {"a": {"b": [{"c": i} for i in range(30)]}}
print(sum(item["c"] for item in nested.get("a", {}).get("b", [])))
a, b = set(range(0, 600, 2)), set(range(0, 600, 3))
print(len(a & b), len(a | b), len(a - b), len(a ^ b))
