#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "guest/testing/fake_holder.h"

namespace caisson {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Finding(const Held& held, std::string_view field) {
  const Value* findings = held.Field("findings");
  if (findings == nullptr) return "-";
  const Value* value = findings->If<List>()->items.at(0).If<Dict>()->Find(field);
  if (const auto* number = value->If<std::int64_t>()) return std::to_string(*number);
  return *value->If<std::string>();
}

std::string Repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// Results.

TEST(GuestResult, IsTheValueOfTheLastExpression) {
  EXPECT_EQ(Hold("1+1").ResultJson(), "2");
  EXPECT_EQ(Hold("x = 20\nx + 22\n").ResultJson(), "42");
  EXPECT_EQ(Hold("'a docstring is a value too'").ResultJson(), "\"a docstring is a value too\"");
  EXPECT_EQ(Hold("1; 2; 3").ResultJson(), "3");
}

TEST(GuestResult, IsAbsentForStatementsAndNone) {
  for (const char* code : {"", "\n\n", "# nothing", "x = 1", "None", "print()", "def f(): pass"}) {
    const Held held = Hold(code);
    EXPECT_EQ(held.End(), "returned") << code;
    EXPECT_EQ(held.ResultJson(), "-") << code;
    EXPECT_EQ(held.Repr(), "-") << code;
  }
}

TEST(GuestResult, HoldsWhatJsonHolds) {
  EXPECT_EQ(Hold("{'a': [1, 2.0, (None, True)], 'b': 'h\xc3\xa9'}").ResultJson(),
            "{\"a\":[1,2.0,[null,true]],\"b\":\"h\xc3\xa9\"}");
  EXPECT_EQ(Hold("[2**63, -2**63, -2**63-1, 2**64, -2**71, 2**200]").ResultJson(),
            "[9223372036854775808,-9223372036854775808,-9223372036854775809,18446744073709551616,"
            "-2361183241434822606848,"
            "1606938044258990275541962092341162602522202993782792835301376]");
}

TEST(GuestResult, ReadsSubclassesWithoutRunningTheirCode) {
  const Held held = Hold(R"(
class D(dict):
    def __iter__(self): raise SystemExit
    def items(self): raise SystemExit
    def keys(self): raise SystemExit
class I(int):
    def __index__(self): raise SystemExit
    def __int__(self): raise SystemExit
class S(str):
    def __str__(self): raise SystemExit
    def encode(self): raise SystemExit
class L(list):
    def __len__(self): return 10**9
    def __getitem__(self, i): raise SystemExit
D({S('a'): L([I(5)])}))");
  EXPECT_EQ(held.ResultJson(), "{\"a\":[5]}");
}

TEST(GuestResult, AResultThatJsonCannotHoldIsShownByItsRepr) {
  EXPECT_EQ(Hold("{1: 2}").Repr(), "{1: 2}");
  EXPECT_EQ(Hold("float('nan')").Repr(), "nan");
  EXPECT_EQ(Hold("[float('inf')]").Repr(), "[inf]");
  EXPECT_EQ(Hold("b'x'").Repr(), "b'x'");
  EXPECT_EQ(Hold("'\\ud800'").Repr(), "'\\ud800'");
  EXPECT_EQ(Hold("x = []\nx.append(x)\nx").Repr(), "[[...]]");
  EXPECT_EQ(Hold("1 << 100_000").Repr(), "<int of 100001 bits>");
  EXPECT_THAT(Hold("object()").Repr(), StartsWith("<object object at"));
}

TEST(GuestResult, HostileReprIsSaidToBeUnprintable) {
  for (const char* body :
       {"1/0", "raise SystemExit(3)", "return 5", "return repr(self)", "raise BaseException()"}) {
    const Held held = Hold(std::string("class Bad:\n    def __repr__(self): ") + body + "\nBad()");
    EXPECT_EQ(held.End(), "returned") << body;
    EXPECT_EQ(held.Repr(), "<unprintable Bad object>") << body;
  }
}

TEST(GuestResult, LimitsAreKept) {
  const HolderOptions small = {.result_bytes = 100};
  EXPECT_EQ(Hold("'x' * 98", small).ResultJson().size(), 100U);
  EXPECT_EQ(Hold("'x' * 99", small).End(), "result_too_large");
  EXPECT_EQ(Hold("a = []\nfor i in range(60): a = [a, a]\na", small).End(), "result_too_large");
  const Held repr = Hold("{1: '\xc3\xa9' * 500}", small);
  EXPECT_EQ(repr.End(), "returned");
  EXPECT_EQ(repr.Repr().size(), 99U) << "cut at the edge of a character";
}

TEST(GuestResult, NestingBeyondTheAgreedDepthIsShownByRepr) {
  const std::string code = "x = 0\nfor i in range(%): x = [x]\nx";
  const auto nested = [&](const std::string& depth) {
    return Hold(std::string(code).replace(code.find('%'), 1, depth));
  };
  EXPECT_EQ(nested("199").ResultJson(), Repeat("[", 199) + "0" + Repeat("]", 199));
  // The report itself adds one level.
  EXPECT_EQ(nested("200").Repr(), Repeat("[", 200) + "0" + Repeat("]", 200));
  EXPECT_EQ(nested("100000").Repr(), "<unprintable list object>");
}

// Top-level return.

TEST(GuestReturn, GivesTheResultFromAnywhereAtTopLevel) {
  EXPECT_EQ(Hold("return 5").ResultJson(), "5");
  EXPECT_EQ(Hold("return").ResultJson(), "-");
  EXPECT_EQ(Hold("for i in range(9):\n  if i == 4:\n    return i\n").ResultJson(), "4");
  EXPECT_EQ(Hold("x = 3\nif x > 5: return 'big'\nx * 2").ResultJson(), "6");
  EXPECT_EQ(Hold("def f():\n  return 1\nf() + 1").ResultJson(), "2") << "a nested one is no such";
}

TEST(GuestReturn, KeepsModuleSemantics) {
  const Held held = Hold(R"("""doc"""
from __future__ import annotations
import os.path, json as j
from math import pi
a: int = 1
b: str
class C:
    x = 5
    def get(self): return a + C.x
def f():
    global a
    a += 1
    return total
total = sum(n for n in range(4))
for k in range(3): pass
with open('/dev/null') as handle: pass
try: 1/0
except ZeroDivisionError as e: caught = repr(e)
match [1, 2, 3]:
    case [head, *tail]: pass
if (w := 7): pass
f()
names = sorted(n for n in globals() if not n.startswith('_') and n not in ('echo','fail','deny','doubt'))
return [a, C().get(), f(), k, w, head, tail, caught, names])");
  EXPECT_EQ(
      held.ResultJson(),
      "[2,7,6,2,7,1,[2,3],\"ZeroDivisionError('division by zero')\",[\"C\",\"a\",\"annotations\","
      "\"caught\",\"f\",\"handle\",\"head\",\"j\",\"k\",\"os\",\"pi\",\"tail\",\"total\",\"w\"]]")
      << held.Error("traceback");
}

TEST(GuestReturn, WorksWithTopLevelAwait) {
  EXPECT_EQ(Hold("import asyncio\nawait asyncio.sleep(0)\nreturn await echo(3)").ResultJson(), "3");
  EXPECT_EQ(
      Hold("async def g():\n  yield 1\n  yield 2\nasync for x in g():\n  return x").ResultJson(),
      "1");
}

TEST(GuestReturn, RefusesWhatCannotBeCombined) {
  const Held star = Hold("from math import *\nreturn pi");
  EXPECT_EQ(star.End(), "rejected");
  EXPECT_THAT(Finding(star, "message"), HasSubstr("import *"));
  EXPECT_EQ(Hold("yield 1\nreturn 2").End(), "rejected");
  EXPECT_EQ(Hold("class C:\n    return 1").End(), "rejected");
}

TEST(GuestReturn, TracebackHasTheCodesOwnLines) {
  const Held held = Hold("x = 1\nif x:\n    return 1/0\n");
  EXPECT_EQ(held.ErrorLine(), 3);
  EXPECT_EQ(held.Error("traceback"),
            "Traceback (most recent call last):\n"
            "  File \"main.py\", line 3, in <module>\n"
            "    return 1/0\n"
            "           ~^~\n"
            "ZeroDivisionError: division by zero\n");
}

// Source text.

TEST(GuestSource, AcceptsBomAndCarriageReturns) {
  EXPECT_EQ(Hold("\xef\xbb\xbfx = 1\r\ny = 2\r\nx + y\r\n").ResultJson(), "3");
}

TEST(GuestSource, RefusesToBeReadInAnEncodingOtherThanUtf8) {
  for (const char* name : {"latin-1", "utf-16", "utf-7", "rot13", "nope"}) {
    const Held held = Hold("\n# -*- coding: " + std::string(name) + " -*-\nprint(1)");
    EXPECT_EQ(held.End(), "rejected") << name;
    EXPECT_EQ(Finding(held, "line"), "2");
    EXPECT_EQ(Finding(held, "column"), "15");
    EXPECT_THAT(Finding(held, "hint"), HasSubstr("save it as UTF-8"));
    EXPECT_EQ(held.out, "");
  }
  EXPECT_EQ(Hold("#!/usr/bin/python\r\n# vim: set fileencoding=cp1252 :\r\n1").End(), "rejected");
  for (const char* name : {"utf-8", "UTF8", "utf_8", "ascii", "us-ascii"}) {
    EXPECT_EQ(Hold("# coding: " + std::string(name) + "\nlen('\xc3\xa9')").ResultJson(), "1")
        << name;
  }
  for (const char* code : {"x = 1\n# coding: nope\n1", "\n\n# coding: nope\n1", "'coding: nope'\n1",
                           "# coding:\n1", "# decoding is hard\n1"}) {
    EXPECT_EQ(Hold(code).ResultJson(), "1") << code;
  }
}

TEST(GuestSource, RefusesNulAndInvalidUtf8WithTheirPlace) {
  const Held nul = Hold(std::string("x = 1\ny\0 = 2", 12));
  EXPECT_EQ(nul.End(), "rejected");
  EXPECT_EQ(Finding(nul, "rule"), "syntax");
  EXPECT_EQ(Finding(nul, "line"), "2");
  EXPECT_EQ(Finding(nul, "column"), "2");
  const Held bad = Hold("# \xff\n");
  EXPECT_EQ(bad.End(), "rejected");
  EXPECT_THAT(Finding(bad, "message"), HasSubstr("UTF-8"));
}

TEST(GuestSource, SyntaxErrorsAreFindings) {
  const Held held = Hold("x = 1\nprint('a'\n");
  EXPECT_EQ(held.End(), "rejected");
  EXPECT_EQ(Finding(held, "rule"), "syntax");
  EXPECT_EQ(Finding(held, "line"), "2");
  EXPECT_EQ(Finding(held, "column"), "6");
  EXPECT_EQ(Finding(held, "message"), "'(' was never closed");
  EXPECT_EQ(Finding(held, "hint"), "add the missing closing bracket");
  EXPECT_EQ(held.Error("type"), "SyntaxError");
  EXPECT_THAT(held.Error("traceback"), HasSubstr("    print('a'\n         ^\n"));
  EXPECT_EQ(Hold("if 1:\nx").Error("type"), "IndentationError");
  EXPECT_EQ(Hold("break").End(), "rejected");
  EXPECT_EQ(Hold("x = 1\nyield x").End(), "rejected");
}

TEST(GuestSource, NothingRunsBeforeTheWholeTreeIsAccepted) {
  EXPECT_EQ(Hold("print('ran')\nbreak").out, "");
  EXPECT_EQ(Hold("print('ran')\nx = = 1").out, "");
}

TEST(GuestSource, NestingBombsAreRefused) {
  const std::vector<std::string> bombs = {
      Repeat("(", 100'000),
      Repeat("(", 150) + "1" + Repeat(")", 150) + Repeat("[", 99'000),
      Repeat("-", 60'000) + "1",
      Repeat("not ", 15'000) + "1",
      "a" + Repeat(".b", 30'000),
      "1" + Repeat("+1", 30'000),
      "a" + Repeat("()", 30'000),
      Repeat("lambda:", 9'000) + "1",
      "x = " + Repeat("1 if 1 else ", 5'000) + "2",
      "return a" + Repeat(".b", 30'000),
      "await a" + Repeat("[0]", 20'000),
  };
  for (const std::string& bomb : bombs) {
    const Held held = Hold(bomb);
    EXPECT_EQ(held.End(), "rejected") << bomb.substr(0, 30);
    EXPECT_EQ(held.Error("type"), "SyntaxError") << bomb.substr(0, 30);
    EXPECT_NE(Finding(held, "message"), "") << bomb.substr(0, 30);
  }
  EXPECT_EQ(Hold("1" + Repeat("+1", 900)).ResultJson(), "901");
}

TEST(GuestSource, IsKnownToInspectAndLinecache) {
  EXPECT_EQ(Hold("import inspect\ndef f():\n    return 1\ninspect.getsource(f)").ResultJson(),
            "\"def f():\\n    return 1\\n\"");
  const Held held =
      Hold("import traceback\ntry:\n    1/0\nexcept Exception: traceback.print_exc()");
  EXPECT_THAT(held.error_out, HasSubstr("    1/0\n    ~^~\n"));
}

TEST(GuestSource, EachPieceOfASessionKeepsItsOwnLines) {
  // The file names differ if the holder numbers them; here the last piece wins.
  const Held held = Hold({"def f():\n    return 1 / 0", "x = 1", "# one\n# two\nf()"});
  EXPECT_EQ(held.Error("type"), "ZeroDivisionError");
  EXPECT_THAT(held.Error("traceback"), HasSubstr("line 3, in <module>\n    f()\n"));
}

TEST(GuestSource, FileNameIsTheRequests) {
  const Held held = Hold("1/0", {.argv0 = "cell-7.py"});
  EXPECT_THAT(held.Error("traceback"),
              HasSubstr("File \"cell-7.py\", line 1, in <module>\n    1/0\n"));
  EXPECT_EQ(held.ErrorLine(), 1);
}

// The environment.

TEST(GuestEnvironment, IsWhatTheRequestSays) {
  const auto with = [](std::vector<std::pair<Value, Value>> variables) {
    Dict environment{std::move(variables)};
    return HolderOptions{.more = Dict{{{Value(std::string("env")), std::move(environment)}}}};
  };
  const Value name(std::string("NAME")), text(std::string("h\xc3\xa9"));
  const std::string code = "import os\n[dict(os.environ), os.getenv('NAME')]";
  EXPECT_EQ(Hold(code, with({{name, text}})).ResultJson(),
            "[{\"NAME\":\"h\xc3\xa9\"},\"h\xc3\xa9\"]");
  EXPECT_EQ(Hold(code, with({})).ResultJson(), "[{},null]");
  // Set again for each piece of a session, whatever the previous piece changed.
  EXPECT_EQ(Hold({"import os\nos.environ = {'A': 'b'}", code}, with({{name, text}})).ResultJson(),
            "[{\"NAME\":\"h\xc3\xa9\"},\"h\xc3\xa9\"]");
}

// Errors.

TEST(GuestError, IsReportedAsPythonPrintsIt) {
  const Held held = Hold("def f(x):\n    return 10 / x\n\nf(0)\n");
  EXPECT_EQ(held.End(), "raised");
  EXPECT_EQ(held.Error("type"), "ZeroDivisionError");
  EXPECT_EQ(held.Error("message"), "division by zero");
  EXPECT_EQ(held.ErrorLine(), 2);
  EXPECT_EQ(held.Error("traceback"),
            "Traceback (most recent call last):\n"
            "  File \"main.py\", line 4, in <module>\n"
            "    f(0)\n"
            "  File \"main.py\", line 2, in f\n"
            "    return 10 / x\n"
            "           ~~~^~~\n"
            "ZeroDivisionError: division by zero\n");
}

TEST(GuestError, ShowsOnlyTheCodesOwnFrames) {
  const Held held = Hold("import json\njson.loads('{')");
  EXPECT_EQ(held.Error("type"), "json.decoder.JSONDecodeError");
  EXPECT_EQ(held.ErrorLine(), 2);
  EXPECT_THAT(held.Error("traceback"), Not(HasSubstr("decoder.py")));
  EXPECT_THAT(held.Error("traceback"),
              HasSubstr("json.decoder.JSONDecodeError: Expecting property"));
  const Held async =
      Hold("import asyncio\nasync def f():\n    raise KeyError('k')\nasyncio.run(f())");
  EXPECT_EQ(async.ErrorLine(), 3);
  EXPECT_THAT(async.Error("traceback"), Not(HasSubstr("asyncio/")));
}

TEST(GuestError, KeepsChainsAndGroups) {
  const Held chain =
      Hold("try:\n    1/0\nexcept Exception as e:\n    raise ValueError('x') from e");
  EXPECT_THAT(chain.Error("traceback"), HasSubstr("direct cause of the following exception"));
  const Held group = Hold("raise ExceptionGroup('g', [ValueError(1), KeyError('k')])");
  EXPECT_EQ(group.Error("type"), "ExceptionGroup");
  EXPECT_THAT(group.Error("traceback"), HasSubstr("+---------------- 2 ----------------"));
  const Held cycle =
      Hold("a = ValueError(); b = KeyError()\na.__context__ = b\nb.__context__ = a\nraise a");
  EXPECT_EQ(cycle.Error("type"), "ValueError");
}

TEST(GuestError, OwnClassesAndNotesShow) {
  const Held held =
      Hold("class Mine(Exception): pass\ne = Mine('m')\ne.add_note('look here')\nraise e");
  EXPECT_EQ(held.Error("type"), "Mine");
  EXPECT_THAT(held.Error("traceback"), HasSubstr("Mine: m\nlook here\n"));
}

TEST(GuestError, HostileExceptionsAreReportedAllTheSame) {
  for (const char* code : {
           "class E(Exception):\n  def __str__(self): raise SystemExit\nraise E",
           "class E(Exception):\n  def __str__(self): return 5\nraise E",
           "class M(type):\n  def __getattribute__(c, n): raise BaseException\nclass E(Exception, "
           "metaclass=M): pass\nraise E",
           "class E(Exception):\n  def __getattribute__(s, n): raise BaseException\nraise E",
           "class E(Exception):\n  __cause__ = property(lambda s: 1/0)\nraise E",
           "class E(Exception):\n  __module__ = 5\nraise E",
           "import traceback, caisson.report\ntraceback.format_exception = None\n1/0",
           "import builtins\nbuiltins.isinstance = None\n1/0",
           "import linecache\nlinecache.cache = 5\n1/0",
           "import sys\nsys.modules.clear()\n1/0",
           "import builtins\nvars(builtins).clear()\n1/0",
       }) {
    const Held held = Hold(code);
    EXPECT_EQ(held.End(), "raised") << code;
    EXPECT_NE(held.Error("type"), "-") << code;
  }
}

TEST(GuestError, IsStillNamedWhenItCannotBeFormatted) {
  const Held held = Hold("import traceback, caisson.report\ncaisson.report.traceback = None\n1/0");
  EXPECT_EQ(held.Error("type"), "ZeroDivisionError");
  EXPECT_EQ(held.Error("message"), "division by zero");
  EXPECT_EQ(held.ErrorLine(), 3);
}

TEST(GuestError, TextIsBoundedAndAlwaysUtf8) {
  const Held big = Hold("raise ValueError('\xc3\xa9' * 10_000_000)");
  EXPECT_EQ(big.End(), "raised");
  EXPECT_LE(big.Error("message").size(), 16U * 1024);
  EXPECT_LE(big.Error("traceback").size(), 64U * 1024);
  EXPECT_EQ(Hold("raise ValueError('\\ud800')").Error("message"), "\\ud800");
}

TEST(GuestError, RecursionAndMemoryErrorsAreWhatTheyAre) {
  const Held deep = Hold("def f(): return f()\nf()");
  EXPECT_EQ(deep.Error("type"), "RecursionError");
  EXPECT_THAT(deep.Error("traceback"), HasSubstr("[Previous line repeated"));
  EXPECT_EQ(Hold("raise MemoryError").Error("type"), "MemoryError");
#if !__has_feature(thread_sanitizer)  // The sanitizer ends the program instead.
  EXPECT_EQ(Hold("x = 'x' * (1 << 60)").Error("type"), "MemoryError");
#endif
}

TEST(GuestError, SaysWhetherItWasMemoryThatWasMissing) {
  const auto says_so = [](const std::string& code) {
    return Hold(code).Field("memory") != nullptr;
  };
#if !__has_feature(thread_sanitizer)
  EXPECT_TRUE(says_so("x = [0] * (1 << 60)"));
  EXPECT_TRUE(says_so("try:\n  x = [0] * (1 << 60)\nexcept MemoryError as e:\n  raise e"));
#endif
  EXPECT_FALSE(says_so("raise MemoryError"));
  EXPECT_FALSE(says_so("def f(): raise MemoryError('x')\nf()"));
  EXPECT_FALSE(says_so("1/0"));
  const Held hostile = Hold(
      "import sys, types\n"
      "raise MemoryError().with_traceback("
      "types.TracebackType(None, sys._getframe(), 1 << 30, 1))");
  EXPECT_EQ(hostile.Error("type"), "MemoryError");
  EXPECT_FALSE(hostile.crashed);
}

TEST(GuestError, RunningOutOfMemoryBitByBitIsReported) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer does not survive a limited address space";
#endif
  const Held held = Hold("x = []\nwhile True:\n    x.append('x' * 100 + str(len(x)))\n",
                         {.memory_bytes = 64 * 1024 * 1024});
  EXPECT_EQ(held.End(), "raised");
  EXPECT_EQ(held.Error("type"), "MemoryError");
  EXPECT_EQ(held.ErrorLine(), 3);
}

TEST(GuestError, CoroutinesThatNobodyAwaitsAreNamedAtALineOfTheCode) {
  const Held held = Hold("import asyncio\nasync def a(): pass\nt = asyncio.create_task(a())\n");
  EXPECT_EQ(held.Error("type"), "RuntimeError");
  EXPECT_THAT(held.error_out,
              StartsWith("main.py:2: RuntimeWarning: coroutine 'a' was never awaited\n"));
  EXPECT_THAT(held.error_out, Not(HasSubstr("caisson")));
  EXPECT_THAT(Hold("async def a(): pass\n\nfor i in range(3): x = a()\nx = 1\n").error_out,
              StartsWith("main.py:3: RuntimeWarning: coroutine 'a' was never awaited\n"));
}

TEST(GuestError, KeyboardInterruptIsAnOrdinaryError) {
  EXPECT_EQ(Hold("raise KeyboardInterrupt").Error("type"), "KeyboardInterrupt");
}

TEST(GuestExit, HasPythonsStatus) {
  const auto status = [](const std::string& code) {
    const Held held = Hold(code);
    EXPECT_EQ(held.End(), "exited") << code;
    return *held.Field("status")->If<std::int64_t>();
  };
  EXPECT_EQ(status("import sys\nsys.exit()"), 0);
  EXPECT_EQ(status("raise SystemExit(0)"), 0);
  EXPECT_EQ(status("raise SystemExit(3)"), 3);
  EXPECT_EQ(status("import sys\nsys.exit('bye')"), 1);
  EXPECT_EQ(status("raise SystemExit(10**30)"), -1);
  EXPECT_EQ(status("exit(5)"), 5);
  EXPECT_EQ(status("quit()"), 0);
  EXPECT_EQ(status("import asyncio\nawait asyncio.sleep(0)\nraise SystemExit(4)"), 4);
  EXPECT_EQ(Hold("raise SystemExit('bye')").error_out, "bye\n");
  EXPECT_EQ(Hold("raise SystemExit(3)").Error("type"), "SystemExit");
  EXPECT_EQ(Hold("raise SystemExit").Error("type"), "-");
}

// Streams.

TEST(GuestStreams, ArriveBeforeTheReport) {
  const Held held = Hold("import sys\nprint('a', end='')\nsys.stderr.write('b')\n1/0");
  EXPECT_EQ(held.out, "a");
  EXPECT_EQ(held.error_out, "b");
  EXPECT_EQ(Hold("print('h\xc3\xa9', '\\ud800')").out, "h\xc3\xa9 \\ud800\n");
}

TEST(GuestStreams, JunkInPlaceOfThemDoesNoHarm) {
  for (const char* code : {"import sys\nprint('x', end='')\nsys.stdout = 5\n7",
                           "import sys\nprint('x', end='')\nsys.stdout = None\n7",
                           "import sys\nprint('x', end='')\ndel sys.stdout, sys.stderr\n7",
                           "import sys\nprint('x', end='')\nclass F:\n  def flush(s): raise "
                           "SystemExit(9)\nsys.stdout = F()\n7",
                           "import sys\nprint('x', end='')\nsys.stdout.close()\n7",
                           "import sys\nprint('x', end='')\nsys.stderr = F = object()\n7"}) {
    const Held held = Hold(code);
    EXPECT_EQ(held.End(), "returned") << code;
    EXPECT_EQ(held.ResultJson(), "7") << code;
    EXPECT_EQ(held.out, "x") << code;
  }
}

TEST(GuestStreams, InputIsEmpty) {
  EXPECT_EQ(Hold("input()").Error("type"), "EOFError");
  EXPECT_EQ(Hold("import sys\nsys.stdin.read()").ResultJson(), "\"\"");
}

TEST(GuestStreams, ErrorsInDelGoToStderr) {
  const Held held = Hold("class D:\n  def __del__(self): 1/0\nD()\n5");
  EXPECT_EQ(held.ResultJson(), "5");
  EXPECT_THAT(held.error_out, HasSubstr("ZeroDivisionError"));
}

TEST(GuestStreams, TheResultsDelRunsWithinTheRun) {
  const Held held =
      Hold("class D:\n  def __repr__(s): return 'D'\n  def __del__(s): print('gone')\nD()");
  EXPECT_EQ(held.Repr(), "D");
  EXPECT_EQ(held.out, "gone\n");
}

// Ends.

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(GuestEnding, FilesThatTheCodeStillHoldsAreWrittenOut) {
  const std::string path = testing::TempDir() + "/caisson_ending_" + std::to_string(getpid());
  for (const char* end : {"5", "1/0", "raise SystemExit(3)", "import sys; sys.exit()"}) {
    const Held held = Hold("path = '" + path + R"('
import csv, gzip, zipfile
rows = csv.writer(open(path + '.csv', 'w', newline=''))
rows.writerow([1, 2])
archive = zipfile.ZipFile(path + '.zip', 'w')
archive.writestr('a', 'b')
class Holder: pass
holder = Holder()
holder.itself = holder
holder.file = open(path + '.cycle', 'w')
holder.file.write('cycle')
Holder.file = open(path + '.class', 'wb')
Holder.file.write(b'class')
)" + end);
    EXPECT_EQ(held.error_out, "");
    EXPECT_EQ(Contents(path + ".csv"), "1,2\r\n") << end;
    EXPECT_THAT(Contents(path + ".zip"), HasSubstr("PK\5\6")) << "its directory: " << end;
    EXPECT_EQ(Contents(path + ".cycle"), "cycle") << end;
    EXPECT_EQ(Contents(path + ".class"), "class") << end;
    for (const char* name : {".csv", ".zip", ".cycle", ".class"}) unlink((path + name).c_str());
  }
}

// Complete, as after CPython's own end.
TEST(GuestEnding, ArchivesBehindClassesAndFunctionsAreWhole) {
  const std::string path = testing::TempDir() + "/caisson_held_" + std::to_string(getpid());
  for (const char* holder : {
           "def make():\n  z = archive()\n  def add(n, t): z.writestr(n, t)\n  return add\n"
           "add = make()\nadd('a', 'b')",
           "class Holder: z = archive()\nHolder.z.writestr('a', 'b')",
           "import functools\nz = archive()\nadd = functools.partial(z.writestr)\nadd('a', "
           "'b')\ndel z",
           "import gc\ngc.disable()\nclass Holder: z = archive()\nHolder.z.writestr('a', 'b')",
           "def add(n, t, z=archive()): z.writestr(n, t)\nadd('a', 'b')",
           "add = archive().writestr\nadd('a', 'b')",
           "def name(): return 'a'\nclass Last:\n  def __init__(self): self.z = archive()\n"
           "  def __del__(self): self.z.writestr(name(), 'b'); self.z.close()\n"
           "class Holder: last = Last()",
       }) {
    const Held held = Hold("path = '" + path +
                           "'\nimport zipfile\n"
                           "def archive(): return zipfile.ZipFile(path, 'w')\n" +
                           holder + "\n5");
    EXPECT_EQ(held.ResultJson(), "5") << holder;
    EXPECT_EQ(held.error_out, "") << holder;
    EXPECT_THAT(Contents(path), HasSubstr("PK\5\6")) << "its directory: " << holder;
    unlink(path.c_str());
  }
}

TEST(GuestEnding, FilesOfClassesOfTheCodesOwnAreWrittenOut) {
  const std::string path = testing::TempDir() + "/caisson_own_" + std::to_string(getpid());
  for (const char* raw :
       {"class F(io.FileIO): pass",
        "class F(io.FileIO):\n  def __init__(self, *a): super().__init__(*a)",
        "class F(io.FileIO):\n  def __init__(self, *a): io.FileIO.__init__(self, *a)"}) {
    const Held held =
        Hold("import io, sys\n" + std::string(raw) + "\nsys.w = io.BufferedWriter(F('" + path +
             "', 'w'))\nsys.w.write(b'x' * 10)");
    EXPECT_EQ(held.ResultJson(), "10") << raw;
    EXPECT_EQ(Contents(path), "xxxxxxxxxx") << raw;
    unlink(path.c_str());
  }
}

TEST(GuestEnding, ExitHandlersRunInPythonsOrderAndChangeNothing) {
  const Held held = Hold(R"(
import atexit
atexit.register(print, 'last')
@atexit.register
def middle(): raise SystemExit(9)
atexit.register(print, 'first')
[1, 2])");
  EXPECT_EQ(held.ResultJson(), "[1,2]");
  EXPECT_EQ(held.out, "first\nlast\n");
  EXPECT_THAT(held.error_out, HasSubstr("Exception ignored in atexit callback"));
  const Held log = Hold(R"(
import logging, logging.handlers, sys
memory = logging.handlers.MemoryHandler(10, target=logging.StreamHandler(sys.stdout))
logging.getLogger().addHandler(memory)
logging.warning('kept until the end'))");
  EXPECT_EQ(log.out, "kept until the end\n");
}

TEST(GuestEnding, ComesOnlyWithTheLastRunOfACell) {
  const Held held = Hold(std::vector<std::string>{
      "import atexit\nx = atexit.register(print, 'bye')\nprint('one')", "print('two')"});
  EXPECT_EQ(held.out, "one\ntwo\nbye\n");
  const Held files = Hold(std::vector<std::string>{
      "import tempfile\nf = tempfile.NamedTemporaryFile('w')\nf.write('abc')",
      "open(f.name).read()"});
  EXPECT_EQ(files.ResultJson(), "\"abc\"");
}

TEST(GuestEnding, HostileLeftoversChangeNothing) {
  const Held held = Hold(R"(
import gc, io, sys, tempfile
class Text(io.TextIOWrapper):
    def flush(self):
        for one in gc.get_objects():
            if type(one) is list and any(type(i) is Text for i in one): one.clear()
        raise SystemExit(7)
sys.texts = [Text(open(tempfile.mkdtemp() + '/x', 'wb')) for _ in range(3)]
sys.empty = io.TextIOWrapper.__new__(io.TextIOWrapper)
class Key(str):
    def __hash__(self): return 5
    def __eq__(self, other): raise SystemExit(8)
globals()[Key('x')] = 1
class Del:
    def __del__(self): globals().clear()
d = Del()
5)");
  EXPECT_FALSE(held.crashed);
  EXPECT_EQ(held.ResultJson(), "5");
}

}  // namespace
}  // namespace caisson
