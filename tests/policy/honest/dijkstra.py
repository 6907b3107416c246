import heapq
from collections import defaultdict

edges = [("a", "b", 4), ("a", "c", 1), ("c", "b", 2), ("b", "d", 5), ("c", "d", 8)]
graph = defaultdict(list)
for u, v, weight in edges:
    graph[u].append((v, weight))
    graph[v].append((u, weight))


def shortest(source, target):
    distances = {source: 0}
    previous = {}
    queue = [(0, source)]
    while queue:
        distance, node = heapq.heappop(queue)
        if node == target:
            path = [node]
            while node in previous:
                node = previous[node]
                path.append(node)
            return distance, path[::-1]
        if distance > distances.get(node, float("inf")):
            continue
        for neighbour, weight in graph[node]:
            candidate = distance + weight
            if candidate < distances.get(neighbour, float("inf")):
                distances[neighbour] = candidate
                previous[neighbour] = node
                heapq.heappush(queue, (candidate, neighbour))
    return float("inf"), []


shortest("a", "d")
