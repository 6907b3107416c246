#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guest/testing/awaited_for_test.h"
#include "guest/testing/fake_holder.h"

namespace caisson {
namespace {

using testing::HasSubstr;

TEST(GuestTools, AreFunctions) {
  EXPECT_EQ(Hold("echo(5)").ResultJson(), "5");
  EXPECT_EQ(Hold("echo(1, 'two', three=[3])").ResultJson(), "[[1,\"two\"],{\"three\":[3]}]");
  EXPECT_EQ(Hold("echo()").ResultJson(), "[[],{}]");
  EXPECT_EQ(Hold("[echo, echo.__name__, callable(echo)]").Repr(), "[<tool echo>, 'echo', True]");
  EXPECT_EQ(Hold("sum(map(echo, range(100)))").ResultJson(), "4950");
  EXPECT_EQ(Hold("echo(*[1, 2], **{'a b': 3})").ResultJson(), "[[1,2],{\"a b\":3}]");
}

TEST(GuestTools, CallToolReachesAnyName) {
  EXPECT_EQ(Hold("call_tool('echo', {'a': 1}, b=2)").ResultJson(), "[[],{\"a\":1,\"b\":2}]");
  EXPECT_EQ(Hold("call_tool('echo')").ResultJson(), "[[],{}]");
  EXPECT_THAT(Hold("call_tool('nope')").Error("message"), HasSubstr("no tool named nope"));
  EXPECT_EQ(Hold("call_tool(5)").Error("type"), "TypeError");
  EXPECT_EQ(Hold("call_tool('echo', 5)").Error("type"), "TypeError");
}

TEST(GuestTools, ValuesCrossNatively) {
  const Held held = Hold(R"(
import math
values = [None, True, 0, -1, 2**63 - 1, 2**63, -2**63, -2**63 - 1, 2**64, -2**200, 1.5, -0.0,
          float('inf'), 'h\xe9\U0001f600', '', b'', b'\x00\xff', [], (), {}, {1: (2, 3), 'a': None, None: b'x'},
          {(1, 2): 3.5}, 'x' * 100_000, b'y' * 100_000, list(range(5000))]
assert math.isnan(echo(float('nan')))
assert echo(bytearray(b'ab')) == b'ab'
for v in values:
    back = echo(v)
    assert back == v and type(back) is type(v), (v, back)
echo(values) == values)");
  EXPECT_EQ(held.ResultJson(), "true") << held.Error("traceback");
}

TEST(GuestTools, ArgumentsThatCannotBeSentRaise) {
  const Held object = Hold("echo({'a': {1, 2}})");
  EXPECT_EQ(object.Error("type"), "TypeError");
  EXPECT_THAT(object.Error("message"), HasSubstr("'set'"));
  EXPECT_THAT(Hold("echo('\\ud800')").Error("message"), HasSubstr("surrogates"));
  EXPECT_EQ(Hold("x = []\nx.append(x)\necho(x)").Error("type"), "ValueError");
  EXPECT_EQ(object.calls, 0);
}

TEST(GuestTools, ErrorsReachTheCode) {
  const Held held = Hold(
      "try:\n    fail(1)\nexcept ToolError as e:\n    r = [e.type, e.message, str(e), repr(e)]\nr");
  EXPECT_EQ(held.ResultJson(),
            "[\"ValueError\",\"boom\",\"ValueError: boom\",\"ToolError('ValueError', 'boom')\"]");
  const Held denied = Hold("deny()");
  EXPECT_EQ(denied.Error("type"), "ApprovalDenied");
  EXPECT_EQ(denied.Error("message"), "not today");
  EXPECT_THAT(denied.Error("traceback"), HasSubstr("    deny()\nApprovalDenied: not today\n"));
  EXPECT_EQ(Hold("from caisson import ToolError as T\nT is ToolError").ResultJson(), "true");
}

TEST(GuestTools, ADoubtfulCallHasAnErrorOfItsOwn) {
  EXPECT_EQ(Hold("try:\n    doubt()\nexcept UncertainError as e:\n"
                 "    r = [e.type, e.message, str(e), repr(e), isinstance(e, ToolError)]\nr")
                .ResultJson(),
            "[\"UncertainError\",\"perhaps done\",\"perhaps done\","
            "\"UncertainError('perhaps done')\",true]");
  EXPECT_EQ(
      Hold("try:\n    await doubt()\nexcept UncertainError as e:\n    r = str(e)\nr").ResultJson(),
      "\"perhaps done\"");
  const Held held = Hold("doubt()");
  EXPECT_EQ(held.Error("type"), "UncertainError");
  EXPECT_THAT(held.Error("traceback"), HasSubstr("    doubt()\nUncertainError: perhaps done\n"));
  EXPECT_EQ(
      Hold("try:\n    fail(1)\nexcept UncertainError:\n    r = 1\nexcept ToolError:\n    r = 2\nr")
          .ResultJson(),
      "2");
}

TEST(GuestTools, ARefusedPostIsAToolError) {
  const Held held = Hold("echo(1)\necho(2)\necho(3)", {.max_calls = 2});
  EXPECT_EQ(held.Error("type"), "ToolError");
  EXPECT_EQ(held.Error("message"), "CallRefused: the arguments are larger than a call may have");
  EXPECT_EQ(held.ErrorLine(), 3);
}

TEST(GuestTools, WorkFromInsideOtherCallbacks) {
  const Held held = Hold(R"(
import re, json
class K:
    def __init__(self, v): self.v = v
    def __lt__(self, o): return echo(self.v) < echo(o.v)
class D:
    def __del__(self): seen.append(echo('del'))
seen = []
D()
s = [k.v for k in sorted(map(K, [3, 1, 2]))]
t = re.sub('[a-z]', lambda m: echo(m[0].upper()), 'a-b')
j = json.dumps({'x': object()}, default=lambda o: echo('obj'))
def g():
    got = yield echo(1)
    yield echo(got)
gen = g()
[s, t, j, next(gen), gen.send(9), seen])");
  EXPECT_EQ(held.ResultJson(), R"([[1,2,3],"A-B","{\"x\": \"obj\"}",1,9,["del"]])");
}

// Awaiting.

TEST(GuestAwait, WorksInAnyMix) {
  EXPECT_EQ(Hold("await echo(1)").ResultJson(), "1");
  EXPECT_EQ(Hold("x = await echo(1)\ny = echo(2)\nx + y").ResultJson(), "3");
  EXPECT_EQ(Hold("async def f():\n    return await echo(1) + echo(2)\nawait f()").ResultJson(),
            "3");
  EXPECT_EQ(Hold("await call_tool('echo', {'a': 1})").ResultJson(), "[[],{\"a\":1}]");
  EXPECT_EQ(Hold("[await echo(i) for i in range(3)]").ResultJson(), "[0,1,2]");
  EXPECT_EQ(Hold("import asyncio\nasyncio.run(echo(4))").ResultJson(), "4");
}

TEST(GuestAwait, FindsTheValueOfACallThatWasMadeOutOfSight) {
  for (const char* code : {
           "cs = [echo(i) for i in range(3)]\nout = []\nfor c in cs: out.append(await c)\nout",
           "d = {i: echo(i) for i in range(3)}\n[await v for k, v in d.items()]",
           "a, b, c = echo(0), echo(1), echo(2)\n[await a, await b, await c]",
           "def start(i): return echo(i)\n[await start(0), await start(1), await start(2)]",
           "import asyncio\ndef start(i): return echo(i)\njobs = [start(i) for i in range(3)]\n"
           "await asyncio.gather(*jobs)",
           "import asyncio\ndef start(i): return echo(i)\nasync def own(): return 2\n"
           "await asyncio.gather(start(0), asyncio.wait_for(start(1), 5), own())",
           "import asyncio\nts = [asyncio.create_task(c) for c in (echo(0), echo(1), echo(2))]\n"
           "[await ts[0], await ts[1], await ts[2]]",
           "f = lambda i: echo(i)\nd = {}\nd['a'] = f(0)\n[await d['a'], await f(1), await (f(2))]",
       }) {
    const Held held = Hold(code);
    EXPECT_EQ(held.ResultJson(), "[0,1,2]") << code << held.Error("traceback");
  }
  EXPECT_EQ(Hold("def f(): return echo([1, {'a': None}])\nawait f()").ResultJson(),
            "[1,{\"a\":null}]");
  EXPECT_EQ(Hold("def f(): return echo()\nawait f()").Error("type"), "-");
  // Functions of the code get their arguments unchanged, whatever their names are.
  EXPECT_EQ(Hold("async def gather(n): return n\ndef create_task(t): return t\n"
                 "class Board:\n  def create_task(self, t): return t\n"
                 "[await gather(1), create_task('b'), Board().create_task('c')]")
                .ResultJson(),
            R"([1,"b","c"])");
  EXPECT_EQ(Hold("async def f(): return 1\n[await f(), (await echo(2))]").error_out,
            "");  // No warnings.
  // A value that no tool returned is not awaited.
  EXPECT_EQ(Hold("await object()").Error("type"), "TypeError");
  EXPECT_EQ(Hold("async def f(): pass\nc = f()\ntry: await [c]\nfinally: c.close()").Error("type"),
            "TypeError");
}

TEST(GuestAwait, GatheredCallsRunSideBySide) {
  for (const char* code :
       {"import asyncio\nawait asyncio.gather(echo(1), echo(2), echo(3))",
        "from asyncio import gather\nawait gather(*[echo(i) for i in (1, 2, 3)])",
        "import asyncio\ntasks = [echo(i) for i in (1, 2, 3)]\nawait asyncio.gather(*tasks)",
        "import asyncio\ntasks = []\nfor i in (1, 2, 3): tasks.append(echo(i))\nawait "
        "asyncio.gather(*tasks)",
        "import asyncio\nasync def main():\n    return await asyncio.gather(*(echo(i) for i in (1, "
        "2, "
        "3)))\nasyncio.run(main())",
        "import asyncio\nawait asyncio.gather(*map(echo, (1, 2, 3)))",
        "import asyncio\nf = echo\nts = {'f': f}\nasync def own(x): return x\n"
        "await asyncio.gather(f(1), ts['f'](2), own(0) if 0 else f(3))",
        "import asyncio\nasync with asyncio.TaskGroup() as tg:\n    ts = [tg.create_task(echo(i)) "
        "for "
        "i in (1, 2, 3)]\n[t.result() for t in ts]"}) {
    const Held held = Hold(code);
    EXPECT_EQ(held.ResultJson(), "[1,2,3]") << code << held.Error("traceback");
    EXPECT_EQ(held.most_in_flight, 3) << code;
  }
}

TEST(GuestAwait, CallsThatAreOnlyAwaitedRunSideBySideWhereverTheyWereKept) {
  for (const char* code : kSideBySide) {
    const Held held = Hold(code);
    EXPECT_EQ(held.ResultJson(), "[1,2,3]") << code << held.Error("traceback");
    EXPECT_EQ(held.most_in_flight, 3) << code;
    EXPECT_EQ(held.error_out, "") << code;
  }
}

TEST(GuestAwait, ACallWhoseValueMayBeUsedOtherwiseIsWaitedForWhereItIsMade) {
  for (const char* code : kOneByOne) {
    const Held held = Hold(code, {.tools = {"echo", "fail", "create_task"}});
    EXPECT_EQ(held.ResultJson(), "[1,1]") << code << held.Error("traceback");
    EXPECT_EQ(held.most_in_flight, 1) << code;
    EXPECT_EQ(held.error_out, "") << code;
  }
}

TEST(GuestAwait, TheMeaningOfANameIsKnownFromEarlierPieces) {
  for (const char* before : {"import asyncio", "import asyncio\nfrom asyncio import gather as g",
                             "import asyncio\ng = asyncio.gather"}) {
    const Held held =
        Hold(std::vector<std::string>{before, "await asyncio.gather(echo(1), echo(2), echo(3))"});
    EXPECT_EQ(held.ResultJson(), "[1,2,3]") << before << held.Error("traceback");
    EXPECT_EQ(held.most_in_flight, 3) << before;
  }
  const Held alias = Hold(std::vector<std::string>{"from asyncio import gather as g",
                                                   "await g(echo(1), echo(2), echo(3))"});
  EXPECT_EQ(alias.ResultJson(), "[1,2,3]");
  EXPECT_EQ(alias.most_in_flight, 3);
  const Held again = Hold(std::vector<std::string>{
      "p = 5", "p = []\nfor i in (1, 2, 3): p.append(echo(i))\n[await c for c in p]"});
  EXPECT_EQ(again.ResultJson(), "[1,2,3]");
  EXPECT_EQ(again.most_in_flight, 3);
}

TEST(GuestAwait, NamesBoundByEarlierPiecesBelongToTheCode) {
  const std::pair<const char*, const char*> sessions[] = {
      {"def gather(*xs): return [x['i'] for x in xs]",
       "r = gather(echo({'i': 1}), echo({'i': 1}))\nawait echo(0)\nr"},
      {"def gather(*xs): return [x['i'] for x in xs]",
       "r = gather(echo({'i': 1}), echo({'i': 1}))\nfrom asyncio import gather\nawait echo(0)\nr"},
      {"class asyncio:\n    def gather(*xs): return [x['i'] for x in xs]",
       "r = asyncio.gather(echo({'i': 1}), echo({'i': 1}))\nawait echo(0)\nr"},
      {"def len(x): return x[0]['i']", "p = [echo({'i': 1})]\nn = len(p)\n[n, (await p[0])['i']]"},
      {"p = []\nq = p", "p.append(echo(1))\nawait p[0]\nq + q"},
      {"class Bag:\n    def append(self, x): self.i = x['i']\n    def pop(self): return self.i\n"
       "p = Bag()",
       "if not p: p = []\np.append(echo({'i': 1}))\n[await p.pop(), 1]"},
  };
  for (const auto& [before, code] : sessions) {
    const Held held = Hold(std::vector<std::string>{before, code});
    EXPECT_EQ(held.ResultJson(), "[1,1]") << before << code << held.Error("traceback");
    EXPECT_EQ(held.most_in_flight, 1) << before << code;
  }
}

TEST(GuestAwait, RunnersAndLoopsTakeWhatToolsGive) {
  EXPECT_EQ(Hold("import asyncio\nwith asyncio.Runner() as runner: r = runner.run(echo(4))\nr")
                .ResultJson(),
            "4");
  EXPECT_EQ(Hold("import asyncio\nloop = asyncio.new_event_loop()\n"
                 "def f(loop): return loop.run_until_complete(echo(5))\n"
                 "[loop.run_until_complete(echo(4)), f(loop)]")
                .ResultJson(),
            "[4,5]");
}

TEST(GuestAwait, APendingCallMayBeAwaitedAgain) {
  EXPECT_EQ(Hold("import asyncio\na = echo(1)\nx = await a\ny = await a\n"
                 "[x, y, *await asyncio.gather(a), *await asyncio.gather(a)]")
                .ResultJson(),
            "[1,1,1,1]");
  EXPECT_EQ(Hold(std::vector<std::string>{"a = echo(1)\nb = await a", "[await a, b]"}).ResultJson(),
            "[1,1]");
}

TEST(GuestAwait, AFailingCallRaisesOnlyWhereItIsAwaited) {
  const Held held = Hold(R"(
p = [echo(1), fail(), echo({1}), echo(3)]
r = []
for c in p:
    try:
        r.append(await c)
    except (ToolError, TypeError) as e:
        r.append(type(e).__name__)
r)");
  EXPECT_EQ(held.ResultJson(), R"([1,"ToolError","TypeError",3])") << held.Error("traceback");
  EXPECT_EQ(held.most_in_flight, 3);
  const Held raised = Hold("a = fail()\nb = echo(2)\nx = await b\ny = await a");
  EXPECT_EQ(raised.ErrorLine(), 4);
}

TEST(GuestAwait, ACallThatIsNeverReachedByItsAwaitHappensAndItsErrorIsShown) {
  const Held held = Hold("p = [fail(), echo(1), fail()]\nfor c in p: await c");
  EXPECT_EQ(held.Error("type"), "ToolError");
  EXPECT_EQ(held.calls, 3);
  EXPECT_EQ(held.error_out,
            "ToolError: ValueError: boom\n  in a call of fail that was never awaited\n");
  const Held unasked = Hold("a = echo(1)\nif a is None: await a\n'end'");
  EXPECT_EQ(unasked.ResultJson(), "\"end\"");
  const Held left = Hold("a = echo(1)\nif not __name__: await a\n'end'");
  EXPECT_EQ(left.ResultJson(), "\"end\"");
  EXPECT_EQ(left.calls, 1);
  EXPECT_EQ(left.error_out, "");
}

TEST(GuestAwait, AFunctionOfTheCodeGivesTheValueToWhoeverDoesNotAwaitIt) {
  EXPECT_EQ(Hold(std::vector<std::string>{"def f(i): return echo(i)\nx = await f(1)", "[f(2), x]"})
                .ResultJson(),
            "[2,1]");
}

TEST(GuestAwait, ASynchronousCallDoesNotLoseOtherAnswers) {
  const Held held = Hold(R"(
import asyncio
async def other():
    return await echo('a')
task = asyncio.create_task(other())
await asyncio.sleep(0)
b = echo('b')
[b, await task])");
  EXPECT_EQ(held.ResultJson(), R"(["b","a"])") << held.Error("traceback");
  EXPECT_EQ(held.most_in_flight, 2);
}

TEST(GuestAwait, ErrorsArriveWhereTheyAreAwaited) {
  EXPECT_EQ(Hold("await fail()").Error("type"), "ToolError");
  EXPECT_EQ(Hold("import asyncio\nr = await asyncio.gather(fail(), echo(1), "
                 "return_exceptions=True)\n[str(r[0]), r[1]]")
                .ResultJson(),
            "[\"ValueError: boom\",1]");
  EXPECT_EQ(
      Hold("try:\n    await deny()\nexcept ApprovalDenied as e:\n    r = str(e)\nr").ResultJson(),
      "\"not today\"");
}

TEST(GuestAwait, AFunctionWithAToolsNameIsStillTheCodesOwn) {
  EXPECT_EQ(Hold("async def echo(x):\n    return -x\nawait echo(5)").ResultJson(), "-5");
  EXPECT_EQ(Hold("import asyncio\nasync def f(x): return x\ntasks = [f(i) for i in range(3)]\n"
                 "tasks.append(f(3))\nawait asyncio.gather(*tasks)")
                .ResultJson(),
            "[0,1,2,3]");
}

TEST(GuestLoop, RunsWhatAsyncioOffers) {
  const Held held = Hold(R"(
import asyncio
async def produce(queue, done):
    for i in range(3):
        await queue.put(i)
        await asyncio.sleep(0.001)
    done.set()
async def main():
    queue, done = asyncio.Queue(), asyncio.Event()
    task = asyncio.create_task(produce(queue, done))
    got = [await queue.get() for _ in range(3)]
    await done.wait()
    await task
    try:
        async with asyncio.timeout(0.002):
            await asyncio.sleep(5)
    except TimeoutError:
        got.append('timeout')
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.001)
    except TimeoutError:
        got.append('wait_for')
    async with asyncio.Lock(), asyncio.Semaphore(1):
        got.append(await asyncio.shield(asyncio.sleep(0, 'shield')))
    return got
[asyncio.run(main()), asyncio.run(main())])");
  EXPECT_EQ(held.ResultJson(),
            R"([[0,1,2,"timeout","wait_for","shield"],[0,1,2,"timeout","wait_for","shield"]])")
      << held.Error("traceback");
}

TEST(GuestLoop, AWaitThatCannotEndIsAnError) {
  const Held held = Hold("import asyncio\nawait asyncio.Event().wait()");
  EXPECT_EQ(held.Error("type"), "RuntimeError");
  EXPECT_THAT(held.Error("message"), HasSubstr("deadlock"));
}

TEST(GuestLoop, TasksLeftBehindAreCancelled) {
  const Held held = Hold(R"(
import asyncio
async def forever():
    try:
        await asyncio.sleep(1000)
    finally:
        print('cancelled')
task = asyncio.create_task(forever())
await asyncio.sleep(0)
7)");
  EXPECT_EQ(held.ResultJson(), "7");
  EXPECT_EQ(held.out, "cancelled\n");
}

TEST(GuestTime, SleepParksTheCellWithoutACall) {
  const Held held = Hold("import time\ntime.sleep(0.002)\ntime.sleep(0)");
  EXPECT_EQ(held.End(), "returned");
  EXPECT_EQ(held.waited_ns, 2'000'000);
  EXPECT_EQ(held.calls, 0);
  EXPECT_EQ(Hold("import time\ntime.sleep(-1)").Error("type"), "ValueError");
  EXPECT_EQ(Hold("import time\ntime.sleep('x')").Error("type"), "TypeError");
  EXPECT_EQ(Hold("from time import sleep\nsleep(float('nan'))").Error("type"), "ValueError");
}

// State.

TEST(GuestState, ASecondPieceGoesOnInTheSameMain) {
  const Held held = Hold({"x = 5\ndef f(): return x + 1", "x += 1\n", "f()"});
  ASSERT_EQ(held.reports.size(), 3U);
  EXPECT_EQ(held.ResultJson(), "7");
}

TEST(GuestState, AFailedPieceLeavesTheRestUsable) {
  const Held held = Hold({"y = 1\n1/0", "return y", "x = =", "await echo(y)", "y"});
  ASSERT_EQ(held.reports.size(), 5U);
  EXPECT_EQ(held.ResultJson(), "1");
}

TEST(GuestState, FreshCellsDoNotShareRandomness) {
  for (const char* code :
       {"import random\nrandom.random()", "from random import randint\nrandint(0, 10**18)",
        "import statistics\nstatistics.NormalDist().samples(1)", "import uuid\nstr(uuid.uuid4())",
        "import secrets\nsecrets.token_hex()",
        "import tempfile\nnext(tempfile._get_candidate_names())",
        "import random, statistics\nstatistics.random.random()"}) {
    const std::string one = Hold(code).ResultJson(), two = Hold(code).ResultJson();
    EXPECT_NE(one, two) << code;
    EXPECT_NE(one, "-") << code;
  }
  EXPECT_EQ(Hold("import random\nrandom.seed(1)\nrandom.random()").ResultJson(),
            "0.13436424411240122");
}

TEST(GuestState, StartsAsAScriptDoes) {
  EXPECT_EQ(
      Hold("import sys\n[__name__, __file__, sys.argv, sorted(n for n in globals() if n[0] != "
           "'_' and n not in ('sys', 'echo', 'fail', 'deny', 'doubt'))]")
          .ResultJson(),
      R"(["__main__","main.py",["main.py"],[]])");
  EXPECT_EQ(
      Hold("import os, sys\n[sys.flags.isolated, sys.flags.utf8_mode, sys.dont_write_bytecode]")
          .ResultJson(),
      "[1,1,true]");
}

TEST(GuestState, LoggingCountsFromTheRun) {
  EXPECT_EQ(Hold("import logging\nr = logging.LogRecord('a', 1, 'p', 1, 'm', (), "
                 "None)\nr.relativeCreated")
                .ResultJson(),
            "0.0");
}

TEST(GuestState, LargeCodeIsTaken) {
  EXPECT_EQ(Hold("x = '" + std::string(60'000, 'y') + "'\nlen(x)").ResultJson(), "60000");
}

}  // namespace
}  // namespace caisson
