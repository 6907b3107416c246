# Sorting, heaps, bisection, dynamic programming, graphs.
import bisect
import heapq
import random

random.seed(7)
values = [random.randint(0, 10**6) for _ in range(6000)]
print(sorted(values)[3000], sorted(values, reverse=True)[0], sorted(map(str, values))[5], sorted(values, key=lambda v: (v % 10, -v))[2])
floats = [random.random() for _ in range(3000)]
floats.sort()
print(bisect.bisect_left(floats, 0.5), heapq.nsmallest(3, values), heapq.nlargest(2, floats))
heap = []
for v in values[:2000]:
    heapq.heappush(heap, (v % 1000, v))
print(sum(heapq.heappop(heap)[1] for _ in range(500)))


def quicksort(items):
    if len(items) < 2:
        return items
    pivot = items[len(items) // 2]
    return quicksort([x for x in items if x < pivot]) + [x for x in items if x == pivot] + quicksort([x for x in items if x > pivot])


def bubble(items):
    items = list(items)
    for i in range(len(items)):
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return items


print(quicksort(values[:800]) == sorted(values[:800]), bubble(values[:100]) == sorted(values[:100]))


def edit_distance(a, b):
    previous = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        current = [i]
        for j, cb in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (ca != cb)))
        previous = current
    return previous[-1]


print(edit_distance("the quick brown fox jumps" * 2, "a lazy dog sleeps all day" * 2))

graph = {i: {(i * k + 1) % 300: k * 3 % 17 + 1 for k in range(1, 6)} for i in range(300)}


def dijkstra(start):
    distance, queue = {start: 0}, [(0, start)]
    while queue:
        d, node = heapq.heappop(queue)
        if d > distance[node]:
            continue
        for neighbour, weight in graph[node].items():
            candidate = d + weight
            if candidate < distance.get(neighbour, float("inf")):
                distance[neighbour] = candidate
                heapq.heappush(queue, (candidate, neighbour))
    return distance


print(sum(dijkstra(0).values()))


def knapsack(items, capacity):
    best = [0] * (capacity + 1)
    for weight, value in items:
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[-1]


print(knapsack([(i % 9 + 1, i * 7 % 31) for i in range(40)], 150))


def queens(n, row=0, columns=0, left=0, right=0):
    if row == n:
        return 1
    return sum(queens(n, row + 1, columns | 1 << c, (left | 1 << c) << 1, (right | 1 << c) >> 1) for c in range(n) if not (columns | left | right) >> c & 1)


print(queens(6), random.choice("abc"), random.sample(range(9), 3), random.shuffle(values), round(random.gauss(0, 1), 3))
