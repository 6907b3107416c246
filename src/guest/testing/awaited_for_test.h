// Programs that call the tool `echo` and await it, for every implementation of await_calls.h.
//
// Trust     Trusted test data.
// Threads   Any.
// Lifetime  Static.
#pragma once

namespace caisson {

// Three calls are open at the same time, and the result is [1, 2, 3].
inline constexpr const char* kSideBySide[] = {
    // Lists.
    "p = [echo(i) for i in (1, 2, 3)]\n[await x for x in p]",
    "p = [echo(i) for i in (1, 2, 3)]\nr = []\nfor c in p:\n    r.append(await c)\nr",
    "p = []\nfor i in (1, 2, 3): p.append(echo(i))\n[await p[i] for i in range(len(p))]",
    "p: list = [echo(1)]\np += [echo(2)]\np.extend([echo(3)])\n[await x for x in p]",
    "p = [echo(1), echo(2)] + [echo(3)]\n[await x for x in p]",
    "r = []\nfor c in [echo(1), echo(2), echo(3)]: r.append(await c)\nr",
    "p = [[echo(1)], [echo(2), echo(3)]]\n[await x for row in p for x in row]",
    "p = [echo(i) for i in (3, 2, 1)]\n[await p.pop(), await p.pop(), await p.pop()]",
    "p = [echo(i) for i in (1, 2, 3)]\nr = {}\n"
    "for i, c in enumerate(p): r[i] = await c\n[*r.values()]",
    "p = [echo(i) for i in (1, 2, 3)]\n[await c for k, c in zip('abc', p)]",
    "p = [echo(i) for i in (1, 2, 3)]\nq = list(p)\n[await c for c in q]",
    "p = [echo(i) for i in (3, 2, 1)]\nr = []\nwhile p: r += [await p.pop()]\nr",
    // Names.
    "a = echo(1); b = echo(2); c = echo(3)\nx = await a\ny = await b\n[x, y, await c]",
    "a, b, c = echo(1), echo(2), echo(3)\n[await a, await b, await c]",
    "async def main():\n    a, b = echo(1), echo(2)\n    c = echo(3)\n"
    "    return [await a, await b, await c]\nawait main()",
    // The same name with another meaning elsewhere.
    "def f(p): return [x + 1 for x in p]\np = [echo(i) for i in (0, 1, 2)]\n"
    "f([await x for x in p])",
    // Dicts.
    "p = {k: echo(k) for k in (1, 2, 3)}\nr = {}\n"
    "for k, c in p.items(): r[k] = await c\n[*r.values()]",
    "p = {}\nfor k in (1, 2, 3): p[k] = echo(k)\n[await p[k] for k in p.keys()]",
    "p = {'a': echo(1), 'b': echo(2), 'c': echo(3)}\n[await c for c in p.values()]",
    "import asyncio\np = {k: echo(k) for k in (1, 2, 3)}\nawait asyncio.gather(*p.values())",
    // Functions.
    "import asyncio\nawait asyncio.gather(*map(lambda i: echo(i), (1, 2, 3)))",
    "import asyncio\ndef start(i): return echo(i)\n"
    "await asyncio.gather(*(start(i) for i in (1, 2, 3)))",
    "def start(i):\n    if i > 1: return echo(i)\n    return again(i)\n"
    "again = lambda i: echo(i)\np = [start(i) for i in (1, 2, 3)]\n[await x for x in p]",
    "import asyncio\nasync def one(i): return echo(i)\n"
    "await asyncio.gather(*(one(i) for i in (1, 2, 3)))",
    "import asyncio\nasync def one(i):\n    async with lock: return echo(i)\n"
    "lock = asyncio.Semaphore(3)\nawait asyncio.gather(*(one(i) for i in (1, 2, 3)))",
    // Functions of asyncio.
    "import asyncio\np = [echo(i) for i in (1, 2, 3)]\ndone, _ = await asyncio.wait(p)\n"
    "sorted(t.result() for t in done)",
    "import asyncio\np = [echo(i) for i in (1, 2, 3)]\n"
    "sorted([await c for c in asyncio.as_completed(p)])",
    "import asyncio\np = [asyncio.create_task(echo(i)) for i in (1, 2, 3)]\n"
    "[await t for t in p]",
    "import asyncio\nawait asyncio.gather(asyncio.wait_for(echo(1), 5), "
    "asyncio.shield(echo(2)), asyncio.ensure_future(echo(3)))",
    "import asyncio\nasync def main(): return await asyncio.gather(*p)\n"
    "p = [echo(i) for i in (1, 2, 3)]\nasyncio.run(main())",
    // Functions under other names.
    "import asyncio as aio\nawait aio.gather(echo(1), echo(2), echo(3))",
    "import asyncio.subprocess\nawait asyncio.gather(echo(1), echo(2), echo(3))",
    "from asyncio import create_task\np = [create_task(echo(i)) for i in (1, 2, 3)]\n"
    "[await t for t in p]",
    "from asyncio import gather as g, wait_for\nawait g(wait_for(echo(1), 5), echo(2), echo(3))",
    "from asyncio import *\nawait gather(echo(1), echo(2), echo(3))",
    "import asyncio\ngather = asyncio.gather\nawait gather(echo(1), echo(2), echo(3))",
    "async def main():\n    from asyncio import gather\n"
    "    return await gather(echo(1), echo(2), echo(3))\ndef gather(*xs): pass\nawait main()",
    "from asyncio import gather\nclass Own:\n    def gather(self, *xs): pass\n"
    "await gather(echo(1), echo(2), echo(3))",
    // Groups and loops.
    "from asyncio import TaskGroup\nasync with TaskGroup() as tg:\n"
    "    ts = [tg.create_task(echo(i)) for i in (1, 2, 3)]\n[t.result() for t in ts]",
    "import asyncio\nasync def main():\n    async with asyncio.TaskGroup() as tg:\n"
    "        def start(i): return tg.create_task(echo(i))\n"
    "        ts = [start(i) for i in (1, 2, 3)]\n    return [t.result() for t in ts]\n"
    "async def other(tg): pass\nasyncio.run(main())",
    "import asyncio\nasync def main():\n    loop = asyncio.get_running_loop()\n"
    "    ts = [loop.create_task(echo(i)) for i in (1, 2, 3)]\n    return [await t for t in ts]\n"
    "await main()",
    "import asyncio\nts = [asyncio.get_running_loop().create_task(echo(i)) for i in (1, 2, 3)]\n"
    "[await t for t in ts]",
    // More collections.
    "from collections import deque\np = deque()\nfor i in (1, 2, 3): p.append(echo(i))\n"
    "r = []\nwhile p: r.append(await p.popleft())\nr",
    "p = []\nfor i in (1, 2, 3): p = p + [echo(i)]\n[await c for c in p]",
    "p = list()\np += [echo(1), echo(2)]\np = p + [echo(3)] if p else []\n[await c for c in p]",
    "class Bag:\n    def append(self, x): pass\np = []\nfor i in (1, 2, 3): p.append(echo(i))\n"
    "[await c for c in p]",
};

// Calls that look like those above but are different: never two at the same time, and the result is
// [1, 1]. `fail` raises; `create_task` is a tool that answers like `echo`.
inline constexpr const char* kOneByOne[] = {
    "a = echo(1)\nprint(a)\nb = await a\n[a, b]",
    "a = echo(1)\na += 0\n[await a, await echo(1)]",
    "a = echo(1)\nb = a\n[await a, b]",
    "a = echo(0)\nif a: await echo(2)\nx = await a\n[1 if a else x + 1, 1]",
    "p = [echo(1), echo(1)]\nfor c in p: await c\np",
    "p = [echo(1), echo(1)]\n[await p[0], max(p)]",
    "a = echo([1, 1])\nr = [await x for x in a]\nlen(a)\nr",
    "a = echo([1, 1])\nx = await a\nlen(a)\nx",
    "a = echo({'k': [1, 1]})\nx = a.get('k')\nawait a\nr = [*a.values()][0]\nr",
    "a = echo([1, 1])\nfor _ in a: pass\nawait a",
    "p = [echo([1])]\nx = p[0][0]\n[await p[0], 1][0] + [1]",
    "class K: a = echo(1)\na = echo(1)\n[K.a, await a]",
    "a = echo(1)\nb = await a\n[b, globals()['a']]",
    "def f():\n    global a\n    a = echo(1)\nf()\nb = await a\n[a, b]",
    "r = [(a := echo(1)) for _ in 'x']\n[await a, *r]",
    "def f(): return echo(1)\n[f(), await f()]",
    "def f():\n try: return fail()\n except ToolError: return echo(1)\n[await f(), await f()]",
    "def f(n): return [echo(1)] if n == 0 else f(0) + [echo(1)]\nawait f(1)",
    "def f(n): return g(n)\ndef g(n): return echo(n)\nx = f(1)\n[x, await f(1)]",
    "def rows():\n    yield 1\n    return echo(1)\n[*rows()] + [await echo(1)]",
    "async def f(a): return locals()\n[(await f(1))['a'], await echo(1)]",
    "async def f(): return g()\nasync def g(): return 1\n[await (await f()), await echo(1)]",
    // Functions with the name of a function of asyncio: a tool,
    "[await create_task(echo(1)), create_task(echo(1))]",
    "r = create_task(echo({'i': 1}))\n[r['i'], await echo(1)]",
    "async def f(): return create_task(echo(1))\ndef g(): return create_task(echo(1))\n"
    "[await f(), await g()]",
    // a function of the code,
    "class Board:\n    def create_task(self, t): return t['i']\nb = Board()\n"
    "[b.create_task(echo({'i': 1})), await echo(1)]",
    "def gather(*xs): return [x['i'] for x in xs]\nr = gather(echo({'i': 1}), echo({'i': 1}))\n"
    "await echo(0)\nr",
    "async def gather(*xs): return [x['i'] for x in xs]\n"
    "await gather(echo({'i': 1}), *[echo({'i': 1})])",
    "def as_completed(xs): return [x['i'] for x in xs]\np = [echo({'i': 1}), echo({'i': 1})]\n"
    "[await c for c in as_completed(p)]",
    "shield = lambda x: x['i']\nfor wait_for in [shield]: r = wait_for(echo({'i': 1}))\n"
    "[await echo(r), shield(echo({'i': 1}))]",
    "class Loop:\n    def run_until_complete(self, x): return x['i']\nloop = Loop()\n"
    "[await echo(1), loop.run_until_complete(echo({'i': 1}))]",
    // or asyncio's own in one place and another one elsewhere.
    "from asyncio import gather\ndef gather(*xs): return [x['i'] for x in xs]\n"
    "r = gather(echo({'i': 1}), echo({'i': 1}))\nawait echo(0)\nr",
    "import asyncio\nclass Own:\n    def gather(self, *xs): return [x['i'] for x in xs]\n"
    "async def f(asyncio): return asyncio.gather(echo({'i': 1}), echo({'i': 1}))\nawait f(Own())",
    "import asyncio\nclass Own:\n    def gather(self, *xs): return [x['i'] for x in xs]\n"
    "if __name__: asyncio = Own()\nr = asyncio.gather(echo({'i': 1}), echo({'i': 1}))\n"
    "await echo(0)\nr",
    "import asyncio\nclass Own:\n    def create_task(self, x): return x['i']\n"
    "def f(tg): return tg.create_task(echo({'i': 1}))\n"
    "async with asyncio.TaskGroup() as tg: pass\n[f(Own()), await echo(1)]",
    "r = create_task(echo({'i': 1}))\nfrom asyncio import create_task\n"
    "[r['i'], await create_task(echo(1))]",
    // A function of asyncio, which is only known at the time of the call.
    "import asyncio\nasync def f(tg, i): return await tg.create_task(echo(i))\n"
    "async with asyncio.TaskGroup() as tg: r = [await f(tg, 1), await f(tg, 1)]\nr",
    "import asyncio\nasync def f(gather): return await gather(echo(1), echo(1))\n"
    "await f(asyncio.gather)",
    "import asyncio\nclass K: aio = asyncio\nawait K.aio.gather(*[echo(1), echo(1)])",
    // Functions of the code that replace builtins.
    "def len(x): return x[0]['i']\np = [echo({'i': 1})]\nn = len(p)\n[n, (await p[0])['i']]",
    "def list(x): return [y['i'] for y in x]\np = list([echo({'i': 1}), echo({'i': 1})])\n"
    "[await c for c in p]",
    "def iter(x): return [y['i'] for y in x]\np = [echo({'i': 1}), echo({'i': 1})]\n"
    "[await c for c in iter(p)]",
    "reversed = tuple = set = dict = lambda x: [y['i'] for y in x]\n"
    "[await [*tuple([echo({'i': 1})])][0], await dict([echo({'i': 1})])[0]]",
    "def map(f, xs): return [f(x)['i'] for x in xs]\n[await c for c in map(echo, [{'i': 1}] * 2)]",
    "def zip(a, b): return [(a, c['i']) for c in b]\np = [echo({'i': 1}), echo({'i': 1})]\n"
    "[await c for k, c in zip(0, p)]",
    "def enumerate(b): return [(0, c['i']) for c in b]\np = [echo({'i': 1}), echo({'i': 1})]\n"
    "[await c for k, c in enumerate(p)]",
    "from builtins import max as len\np = [echo(1), echo(0)]\n[len(p), 1 + await p[1]]",
    // Collections that other code looks into: those of classes in the code,
    "class Bag:\n    def append(self, x): self.i = x['i']\n    def pop(self): return self.i\n"
    "p = Bag()\np.append(echo({'i': 1}))\n[await p.pop(), 1]",
    "class Bag(dict):\n    def __setitem__(self, k, v): super().__setitem__(k, v['i'])\n"
    "p = Bag()\np[0] = echo({'i': 1})\n[await p[0], 1]",
    "class Bag:\n    def __add__(self, other): return [other[0]['i']] * 2\n"
    "p = Bag() + [echo({'i': 1})]\n[await c for c in p]",
    "class Bag(list):\n    def __iadd__(self, more): return [x['i'] for x in more]\np = Bag()\n"
    "p += [echo({'i': 1}), echo({'i': 1})]\n[await c for c in p]",
    // those with another name,
    "p = []\nq = p\nq.append(echo(1))\nawait q[0]\np + p",
    "p = []\nq = p if not p else []\nq.append(echo(1))\nawait q[0]\np + p",
    "a = b = []\na.append(echo(1))\nawait a[0]\nb + b",
    "rows = [[]]\nfor row in rows:\n    row.append(echo(1))\n    await row[0]\nrows[0] * 2",
    // and those of the caller.
    "async def f(p):\n    p.append(echo(1))\n    for c in p: await c\nq = []\nawait f(q)\nq + q",
    "async def f(p):\n    p[1] = echo(1)\n    await p[1]\nq = {}\nawait f(q)\n[q[1], 1]",
    "async def f(p):\n    p += [echo(1)]\n    for c in p: await c\nq = []\nawait f(q)\nq + q",
};

}  // namespace caisson
