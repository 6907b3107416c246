from collections import defaultdict, deque
from graphlib import CycleError, TopologicalSorter

graph = {"a": ["b", "c"], "b": ["d"], "c": ["d", "e"], "d": ["f"], "e": ["f"], "f": []}


def bfs(start, goal):
    queue, seen = deque([(start, [start])]), {start}
    while queue:
        node, path = queue.popleft()
        if node == goal:
            return path
        for nxt in graph[node]:
            if nxt not in seen:
                seen.add(nxt)
                queue.append((nxt, path + [nxt]))


def dfs(node, seen=None):
    seen = seen if seen is not None else set()
    seen.add(node)
    for nxt in graph[node]:
        if nxt not in seen:
            dfs(nxt, seen)
    return seen


print(bfs("a", "f"), sorted(dfs("c")))
order = list(TopologicalSorter({"d": {"b", "c"}, "b": {"a"}, "c": {"a"}}).static_order())
print(order[0], order[-1])
try:
    list(TopologicalSorter({"x": {"y"}, "y": {"x"}}).static_order())
except CycleError as error:
    print("cycle", sorted(set(error.args[1])))
reverse = defaultdict(set)
for node, targets in graph.items():
    for target in targets:
        reverse[target].add(node)
print({k: sorted(v) for k, v in sorted(reverse.items())})
