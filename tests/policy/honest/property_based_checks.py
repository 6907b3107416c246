import random
import time


def quicksort(xs):
    if len(xs) <= 1:
        return xs
    pivot, *rest = xs
    return quicksort([x for x in rest if x < pivot]) + [pivot] + quicksort([x for x in rest if x >= pivot])


def merge_sort(xs):
    if len(xs) < 2:
        return list(xs)
    middle = len(xs) // 2
    left, right = merge_sort(xs[:middle]), merge_sort(xs[middle:])
    merged = []
    while left and right:
        merged.append((left if left[0] <= right[0] else right).pop(0))
    return merged + left + right


rng = random.Random(7)
for sort in (quicksort, merge_sort):
    started = time.perf_counter()
    for _ in range(50):
        sample = [rng.randint(-50, 50) for _ in range(rng.randrange(30))]
        assert sort(sample) == sorted(sample), (sort.__name__, sample)
    elapsed = time.perf_counter() - started
    print(sort.__name__, "ok", elapsed < 60)
random.seed(1)
print(random.choices("ab", weights=[1, 0], k=3), len({random.random() for _ in range(5)}), random.choice([4]))
