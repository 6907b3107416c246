# Calls the host from every place in Python that has pending state: C frames, generators, exceptions
# in flight, destructors, coroutines. If it is saved and restored at every call, it must print the
# same as without interruption, and the same as python3 with the same tool (python_host.py).
import asyncio
import bisect
import collections
import contextlib
import copy
import dataclasses
import decimal
import enum
import fractions
import functools
import hashlib
import heapq
import io
import itertools
import json
import operator
import os
import random
import re
import sqlite3
import statistics
import string
import struct
import sys
import tempfile
import time
import traceback
import zlib

log = []


def tool(x):
    return answer(str(x))


def note(name, *values):
    log.append((name, *values))


# Containers that are incomplete during the call.
note("list", [tool(i) * 10 for i in range(3)], {k: tool(k) for k in "abc"}, {tool(i) for i in range(1)})
note("tuple", (tool("t1"), *(tool(i) for i in range(2)), tool("t2")), f"{tool('f')!r:>8}|{tool('g'):04d}")
note("slice", list(range(20))[tool(1) % 5 : 10 + tool(2) % 5], [*map(tool, "xy")][::-1])
a, *b, (c, d) = tool(1), tool(2), tool(3), (tool(4), tool(5))
note("unpack", a, b, c, d, tool(6) < tool(7) <= tool(8), tool("") or tool("or"))


# Generators that stay open across calls; send, throw, close, yield from.
def inner(n):
    total = 0
    try:
        for i in range(n):
            got = yield total + tool(i)
            total += got or tool("nothing sent")
        return total
    except LookupError as error:
        note("thrown", repr(error), tool("in except"))
        yield tool("after throw")
    finally:
        note("inner ends", n, tool("in finally"))


def outer(n):
    note("outer got", (yield from inner(n)))
    yield tool("last")


open_generator = outer(4)
note("send", next(open_generator), open_generator.send(5), open_generator.send(None))
thrown = inner(3)
note("throw", next(thrown), thrown.throw(LookupError("x")))
thrown.close()
lazy = (x * tool(x) for x in itertools.count() if tool(x) % 2)
note("lazy", next(lazy), next(lazy))


# Context managers and exceptions in flight.
class Manager:
    def __init__(self, name, swallow=False):
        self.name, self.swallow = name, swallow

    def __enter__(self):
        note("enter", self.name, tool(self.name))
        return self

    def __exit__(self, kind, value, trace):
        note("exit", self.name, kind and kind.__name__, tool(self.name), value is None or str(value))
        return self.swallow


@contextlib.contextmanager
def managed(name):
    note("managed in", tool(name))
    try:
        yield name
    except KeyError as error:
        note("managed saw", repr(error), tool("managed"))
        raise ValueError(tool("raised")) from error
    finally:
        note("managed out", tool(name))


with Manager("outermost", swallow=True), managed("middle"), Manager("innermost"), contextlib.ExitStack() as stack:
    stack.callback(lambda: note("callback", tool("callback")))
    stack.enter_context(Manager("stacked"))
    try:
        raise TypeError("first")
    except TypeError as error:
        note("active", repr(sys.exc_info()[1]), tool("active"))
        try:
            raise KeyError(tool("second")) from error
        finally:
            note("finally", tool("finally"), repr(sys.exc_info()[1]))

try:
    try:
        raise ExceptionGroup("g", [ValueError(tool("v")), KeyError(tool("k")), OSError(tool("o"))])
    except* ValueError as group:
        note("group v", len(group.exceptions), tool("in group"))
    except* KeyError as group:
        note("group k", [repr(e) for e in group.exceptions], tool("in group"))
except* OSError as group:
    note("group left", [str(e) for e in group.exceptions])


def fails(depth):
    if depth == 0:
        tool("before it fails")
        return [][tool("index")]
    try:
        return fails(depth - 1)
    finally:
        tool(depth)


try:
    fails(5)
except IndexError as error:
    lines = [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    note("trace", tool("z"), lines)


# Calls from inside active C code.
note("sort", sorted(range(8), key=lambda i: (tool(i) % 5, i)))
note("cmp", sorted("dbca", key=functools.cmp_to_key(lambda x, y: tool(x) % 7 - tool(y) % 7 or (x > y) - (x < y))))
note("minmax", min(range(5), key=tool), max("pqrs", key=tool), sum(map(tool, range(4))), any(tool(i) > 90 for i in range(9)))
note("filter", list(filter(lambda i: tool(i) % 2, range(6))), functools.reduce(lambda p, q: p * 31 + tool(q), range(4), 1))
note("re", re.sub(r"\d+", lambda m: f"<{tool(m.group())}>", "a1 b22 c333"), re.split(r"(\W)", f"{tool(1)},{tool(2)}"))
note("json", json.dumps({"k": [object(), object()]}, default=lambda o: tool("json")),
     json.loads('{"a": 1, "b": {"c": 2}}', object_hook=lambda o: {**o, "n": tool(len(o))}))
note("format", "{0.real:{1}}".format(tool("w"), tool("v") % 5 + 3), "%d-%s" % (tool(1), tool(2)),
     string.Template("$x").substitute(x=tool("template")))
note("heap", heapq.nsmallest(3, range(6), key=tool), bisect.bisect([1, 2, 3], 2, key=lambda x: x + tool(x) % 2))
note("accumulate", list(itertools.accumulate(range(5), lambda x, y: x + tool(y))),
     [(k, list(g)) for k, g in itertools.groupby(range(6), lambda i: tool(i) % 2)])
note("literal", int(str(tool("int"))), bytes([tool("byte") % 256]), struct.pack(">HB", tool("h"), tool("b") % 256).hex())


class Key:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return tool("hash")

    def __eq__(self, other):
        return tool(self.value) == tool(other.value)

    def __lt__(self, other):
        return tool(self.value) < tool(other.value)

    def __getattr__(self, name):
        return tool(name)

    def __getitem__(self, item):
        return tool(item)

    def __len__(self):
        return tool("len") % 4 + 1

    def __bool__(self):
        return tool("bool") > 0

    def __repr__(self):
        return f"Key({tool(self.value)})"

    def __index__(self):
        return tool("index") % 3

    def __iadd__(self, other):
        self.value = tool(f"{self.value}{other}")
        return self

    def __call__(self, *args):
        return tool(args)

    def __contains__(self, item):
        return tool(item) % 2 == 0

    def __format__(self, spec):
        return f"{spec}{tool(spec)}"


table = {Key(1): 1, Key(2): 2, Key(1): 3}
key = Key("k")
key += 1
note("magic", len(table), table[Key(2)], key.anything, key[3], len(key), bool(key), [5, 6, 7][key], repr(key), key(1, 2))
note("magic too", 4 in key, f"{key:abc}", sorted([Key(3), Key(1), Key(2)]), Key(1) in [Key(0), Key(1)], copy.copy(Key).__name__)


class Meta(type):
    def __new__(mcs, name, bases, space):
        return super().__new__(mcs, name, bases, {**space, "made": tool(name)})

    def __instancecheck__(cls, other):
        return tool("instance") > 0

    def __prepare__(name, bases):
        return {"prepared": tool("prepare")}


class Descriptor:
    def __set_name__(self, owner, name):
        self.name = tool(name)

    def __get__(self, instance, owner):
        return self.name + tool("get")


class Made(metaclass=Meta):
    field = Descriptor()
    body = tool("class body")

    @functools.cached_property
    def cached(self):
        return tool("cached")


note("meta", Made.made, Made.prepared, Made.field, Made.body, Made().cached, isinstance(3, Made))


@dataclasses.dataclass(order=True)
class Point:
    x: int = dataclasses.field(default_factory=lambda: tool("x"))
    y: int = 0

    def __post_init__(self):
        self.y = tool("post")


class Colour(enum.Enum):
    RED = tool("red")
    BLUE = tool("blue")


note("made", Point(), Point(1) < Point(2), dataclasses.asdict(Point(3)), Colour.RED, Colour(tool("blue")).name)


# Closures, decorators, caches, recursion, eval and exec.
def counter():
    n = 0

    def more(by=tool("default")):
        nonlocal n
        n += tool(n) + by
        return n

    return more


@functools.lru_cache
def fibonacci(n):
    return n + tool(n) if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def deep(n):
    return tool("bottom") if n == 0 else 1 + deep(n - 1)


def through_c(n):
    return tool("bottom") if n == 0 else 1 + max(map(through_c, [n - 1]))


count = counter()
note("closure", count(), count(), count(1), fibonacci(6), fibonacci.cache_info().hits)
note("deep", deep(300), through_c(40), eval("tool(5) + sum(tool(i) for i in range(2))"))
space = {"tool": tool}
exec("class C:\n  x = tool('class')\n  def m(self): return self.x + tool('m')\nr = C().m()", space)
note("exec", space["r"])
match [tool(1), {"k": tool(2)}]:
    case [first, {"k": second}] if tool("guard") >= 0:
        note("match", first, second)
note("walrus", [y for x in range(4) if (y := tool(x)) % 2], (lambda *p, q=tool("q"), **r: (p, q, r))(tool(1), s=tool("s")))


# Destructors.
class Dying:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        note("del", self.name, tool(self.name))


one = Dying("named")
del one
note("temporary", len([Dying("a"), Dying("b")]), tool("after"))
two = [Dying("in list"), tool("while alive")]
two.clear()


# Library objects with pending state.
rng = random.Random(7)
first = rng.random()
tool("rng")
note("random", first, rng.random(), rng.sample(range(100), 5), rng.gauss(0, 1))
with decimal.localcontext() as context:
    context.prec = 50
    third = decimal.Decimal(1) / 3
    tool("decimal")
    note("decimal", str(third * 2), str(decimal.Decimal(2).sqrt()))
note("decimal after", str(decimal.Decimal(1) / 7), fractions.Fraction(tool(1), 7) + fractions.Fraction(1, 3))
buffer = io.StringIO()
buffer.write("abc")
tool("buffer")
buffer.write("def")
reader = io.TextIOWrapper(io.BytesIO("zwölf\nBoxkämpfer\njagen".encode()), encoding="utf-8")
line = reader.readline()
tool("reader")
note("io", buffer.getvalue(), line, reader.read())
digest = hashlib.sha256(b"a" * 100)
packer = zlib.compressobj()
packed = packer.compress(b"abc" * 1000)
tool("digest")
digest.update(b"b")
packed += packer.flush()
note("digest", digest.hexdigest(), zlib.decompress(packed) == b"abc" * 1000, zlib.crc32(b"x" * tool("crc")))
groups = itertools.groupby("aabbcc")
letter, group = next(groups)
tee_one, tee_two = itertools.tee(iter(range(5)))
next(tee_one)
tool("iterators")
note("iterators", letter, list(group), [k for k, _ in groups], list(tee_one), list(tee_two))
ring = collections.deque(range(5), maxlen=5)
items = iter({1: 2, 3: 4, 5: 6}.items())
next(items)
ordered = collections.OrderedDict(a=1, b=2)
back = reversed(ordered)
next(back)
found = re.compile("(a)(b)?").finditer("abaab")
next(found)
tool("collections")
ring.append(tool("ring"))
note("collections", list(ring), list(items), list(back), [m.span() for m in found], collections.Counter("abca").most_common(1))
floats = [0.1 * i for i in range(10)]
big = 3**5000
tool("numbers")
note("numbers", sum(floats), statistics.stdev(floats), big % (10**9 + 7), str(big)[:20], (1 << 70) ^ tool("xor"), 0.1 + tool("f"))
view = memoryview(bytearray(range(50)))[10:40:3]
part = view[2:5]
tool("view")
part[0] = tool("part") % 256
note("view", bytes(view).hex(), part.tolist())
before = time.monotonic()
tool("clock")
note("clock", time.monotonic() >= before)

# Files and a database that stay open.
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "file")
    with open(path, "w+") as file:
        file.write("one\n")
        tool("written, not flushed")
        file.write("two\nthree\n")
        file.seek(0)
        first = file.readline()
        tool("between lines")
        rest = file.read()
        position = file.tell()
    raw = os.open(path, os.O_RDWR | os.O_APPEND)
    os.lseek(raw, 4, os.SEEK_SET)
    tool("raw")
    os.write(raw, b"four\n")
    os.lseek(raw, 0, os.SEEK_SET)
    entries = os.scandir(folder)
    tool("scandir")
    note("files", first, rest, position, os.read(raw, 100), [e.name for e in entries], os.stat(path).st_size)
    os.close(raw)
    base = sqlite3.connect(os.path.join(folder, "base.db"))
    base.create_function("tool", 1, tool)
    base.execute("create table t (x, y)")
    base.executemany("insert into t values (?, ?)", ((i, tool(i)) for i in range(5)))
    tool("in a transaction")
    rows = base.execute("select x, y, tool(x) from t order by tool(y), x")
    first = next(rows)
    tool("cursor open")
    base.commit()
    note("sqlite", first, rows.fetchall(), base.execute("select sum(y) from t").fetchone())
    base.close()


# Coroutines: driven by hand, and by the loop, awaited and gathered.
async def by_hand(n):
    return sum([tool(i) for i in range(n)])


coroutine = by_hand(3)
try:
    coroutine.send(None)
except StopIteration as stop:
    note("by hand", stop.value)


async def numbers(n):
    try:
        for i in range(n):
            yield i + await answer(f"async {i}")
    finally:
        note("async generator ends", await answer("aclose"))


class AsyncManager:
    async def __aenter__(self):
        return await answer("aenter")

    async def __aexit__(self, *error):
        note("aexit", await answer("aexit"), tool("sync in aexit"))


async def worker(name, queue, done):
    while (item := await queue.get()) is not None:
        done.append((name, item, await answer(f"{name}{item}")))


async def main():
    results = [await answer("awaited"), tool("plain")]
    results += await asyncio.gather(answer("g1"), by_hand(2), answer("g2"), asyncio.sleep(0, "slept"))
    results.append([x async for x in numbers(3)])
    async with AsyncManager() as entered, asyncio.TaskGroup() as group:
        task = group.create_task(by_hand(2))
        results.append((entered, await answer("in group")))
    results.append(task.result())
    async for x in numbers(5):
        if x:
            break
    queue, done = asyncio.Queue(), []
    for item in (1, 2, None):
        queue.put_nowait(item)
    await worker("w", queue, done)
    results += done
    try:
        async with asyncio.timeout(60):
            results.append(await asyncio.wait_for(answer("in time"), 60))
            raise TimeoutError(await answer("by hand"))
    except TimeoutError as error:
        results.append(str(error))
    return results


note("async", asyncio.run(main()))

# Memory that grows, and shrinks, around a call.
block = bytearray(2_000_000)
block[1_234_567] = tool("grow") % 250
tool("grown")
note("memory", len(block), block[1_234_567], sum(block))
del block
note("still open", next(lazy), open_generator.send(3), next(open_generator))
open_generator.close()
print(*map(repr, log), sep="\n")
