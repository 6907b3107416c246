from operator import attrgetter, itemgetter, mul
from functools import cmp_to_key, partial
from collections import namedtuple
import bisect

Person = namedtuple("Person", "name age city", defaults=["Oslo"])
people = [Person("Ann", 31), Person("Bob", 25, "Rome"), Person("Cy", 31, "Bonn")]
by_age = sorted(people, key=attrgetter("age", "name"), reverse=True)
by_city = sorted(people, key=lambda p: p.city.lower())
pairs = sorted({"b": 2, "a": 1}.items(), key=itemgetter(1))
numbers = sorted(["10", "9", "1"], key=cmp_to_key(lambda a, b: int(a) - int(b)))
double = partial(mul, 2)
position = bisect.bisect_left([1, 3, 5], 4)
older = [p._replace(age=p.age + 1)._asdict() for p in people]
print(by_age[0].name, by_city[0], pairs, numbers, double(21), position, older)
