import itertools as it
from itertools import accumulate, chain, combinations, groupby, islice, pairwise, permutations, product, zip_longest
from operator import itemgetter, mul

print(list(accumulate([1, 2, 3, 4], mul)), list(pairwise("abc")))
rows = [("a", 1), ("b", 2), ("a", 3)]
for key, group in groupby(sorted(rows), key=itemgetter(0)):
    print(key, [n for _, n in group])
print(list(islice(it.count(10, 5), 3)), list(combinations("abc", 2)), len(list(permutations(range(4)))))
print(["".join(p) for p in product("ab", repeat=2)], list(zip_longest([1, 2], "a", fillvalue="-")))
print(list(chain.from_iterable([[1], [2, 3]])), list(it.takewhile(lambda n: n < 3, it.cycle([1, 2, 3]))))
a, b = it.tee(iter([1, 2]))
print(list(a), list(b), list(it.starmap(pow, [(2, 3), (3, 2)])), list(it.compress("abc", [1, 0, 1])))
