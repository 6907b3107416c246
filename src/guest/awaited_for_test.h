// Programs that call the tool `echo` and await it, for every implementation of await_calls.h.
//
// Trust     Ours.
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
    // The same name, with another meaning, elsewhere.
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
    // What asyncio offers.
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
};

// Calls that look like those and are not: never two at the same time, and the result is [1, 1].
// `fail` raises.
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
};

}  // namespace caisson
