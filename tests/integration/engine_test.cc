// The result of one run in the real engines: values, errors, output, files, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// One engine for all tests of a kind, as in production: each run follows all the others on the same
// worker.
class EngineTest : public OnEachEngine {
 protected:
  static void TearDownTestSuite() { engines_.clear(); }
  void SetUp() override {
    auto& engine = engines_[GetParam()];
    if (!engine) engine = StartEngine(GetParam());
    engine_ = engine.get();
  }
  // A reset that left a trace would have ended the worker.
  void TearDown() override {
    if (engine_) EXPECT_EQ(engine_->stats().workers_lost, 0u);  // Without one, it was skipped.
  }

  Outcome Run(std::string code, Limits limits = {}) {
    return RunCode(*engine_, std::move(code), limits);
  }
  void ExpectLimit(std::string code, Limits limits, RunReason reason) {
    const Outcome outcome = Run(std::move(code), limits);
    EXPECT_EQ(outcome.status, RunStatus::kLimit) << Ending(outcome);
    EXPECT_EQ(outcome.reason, reason) << Ending(outcome);
  }

  static std::map<EngineKind, std::unique_ptr<Engine>> engines_;
  Engine* engine_ = nullptr;
};
std::map<EngineKind, std::unique_ptr<Engine>> EngineTest::engines_;
INSTANTIATE_ON_BOTH_ENGINES(EngineTest);

TEST_P(EngineTest, TheLastExpressionIsTheResult) {
  const Outcome outcome = Run("x = 6\nx * 7");
  EXPECT_EQ(outcome.status, RunStatus::kCompleted) << Ending(outcome);
  EXPECT_EQ(outcome.result, Value(42));
  EXPECT_EQ(outcome.boundary.engine, EngineOf(GetParam()));
  EXPECT_EQ(outcome.boundary.tier, "namespace");
}

TEST_P(EngineTest, ATopLevelReturnIsTheResult) {
  EXPECT_EQ(Run("if True:\n  return 'early'\n1").result, Value(std::string("early")));
}

TEST_P(EngineTest, NoneIsNoResult) {
  const Outcome outcome = Run("None");
  EXPECT_EQ(outcome.status, RunStatus::kCompleted);
  EXPECT_FALSE(outcome.result);
  EXPECT_FALSE(outcome.result_repr);
}

TEST_P(EngineTest, PlainDataComesOutAsItIs) {
  const Outcome outcome = Run("[1, -2.5, True, None, 'ü', {'k': [[]]}, 2**63 - 1, -2**63]");
  ASSERT_TRUE(outcome.result) << Ending(outcome);
  EXPECT_EQ(ResultJson(outcome),
            "[1,-2.5,true,null,\"ü\",{\"k\":[[]]},9223372036854775807,-9223372036854775808]");
  EXPECT_EQ(ResultJson(Run("3**100")), "515377520732011331036461129765621272702107522001");
}

TEST_P(EngineTest, AResultThatJsonCannotHoldIsShown) {
  for (const auto& [code, repr] : {std::pair{"b'ab'", "b'ab'"},
                                   {"float('nan')", "nan"},
                                   {"{1, 2}", "{1, 2}"},
                                   {"{(1, 2): 3}", "{(1, 2): 3}"},
                                   {"object", "<class 'object'>"}}) {
    const Outcome outcome = Run(code);
    EXPECT_EQ(outcome.status, RunStatus::kCompleted) << code;
    EXPECT_FALSE(outcome.result) << code;
    EXPECT_EQ(outcome.result_repr, repr) << code;
  }
}

// Python's json, which most clients use, does not read longer ints.
TEST_P(EngineTest, AnIntOfMoreThan4300DigitsIsShown) {
  const std::string longest(4300, '9');
  const std::string longer = "1" + std::string(4300, '0');
  for (const char* const sign : {"", "-"}) {
    const Outcome holds = Run(sign + std::string("(10**4300 - 1)"));
    ASSERT_TRUE(holds.result) << Ending(holds);
    EXPECT_EQ(ResultJson(holds), sign + longest);
    const Outcome shown = Run(sign + std::string("10**4300"));
    EXPECT_FALSE(shown.result);
    EXPECT_EQ(shown.result_repr, sign + longer) << Ending(shown);
    const Outcome nested = Run("{'a': [1, (" + std::string(sign) + "10**4300,)]}");
    EXPECT_FALSE(nested.result);
    EXPECT_EQ(nested.result_repr, "{'a': [1, (" + (sign + longer) + ",)]}") << Ending(nested);
  }
  EXPECT_EQ(Run("10**30000").result_repr, "<int of 99658 bits>");
  // The code's own limit is unchanged.
  EXPECT_EQ(ResultJson(Run("import sys\nclass A:\n  def __repr__(self): return 'a'\n"
                           "sys.get_int_max_str_digits()")),
            "4300");
}

TEST_P(EngineTest, AnExceptionIsToldWithItsLine) {
  const Outcome outcome = Run("def f():\n  raise KeyError('k')\nprint('before')\nf()");
  EXPECT_EQ(outcome.status, RunStatus::kFailed);
  EXPECT_EQ(outcome.reason, RunReason::kRaised);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->type, "KeyError");
  EXPECT_EQ(outcome.error->line, 2);
  EXPECT_THAT(outcome.error->traceback, HasSubstr("raise KeyError('k')"));
  EXPECT_THAT(outcome.error->traceback, Not(HasSubstr("caisson")));
  EXPECT_EQ(outcome.stdout_text, "before\n");
}

TEST_P(EngineTest, EveryWayToEndIsNamed) {
  struct Case {
    const char* code;
    RunStatus status;
    RunReason reason;
    const char* error;
  };
  for (const Case& one : {
           Case{"raise SystemExit", RunStatus::kCompleted, RunReason::kReturned, ""},
           Case{"import sys; sys.exit(3)", RunStatus::kFailed, RunReason::kRaised, "SystemExit"},
           Case{"raise KeyboardInterrupt", RunStatus::kFailed, RunReason::kRaised,
                "KeyboardInterrupt"},
           Case{"import os; os._exit(0)", RunStatus::kCompleted, RunReason::kReturned, ""},
           Case{"import os; os._exit(7)", RunStatus::kFailed, RunReason::kRaised, "SystemExit"},
           Case{"import os; os.abort()", RunStatus::kFailed, RunReason::kCrashed, "Abort"},
           Case{"def f(): f()\nf()", RunStatus::kFailed, RunReason::kRaised, "RecursionError"},
           Case{"x = [0] * 10**9", RunStatus::kLimit, RunReason::kMemory, "MemoryError"},
           Case{"# coding: utf-16\n1", RunStatus::kRejected, RunReason::kPolicy, "SyntaxError"},
           Case{"raise MemoryError", RunStatus::kFailed, RunReason::kRaised, "MemoryError"},
           Case{"1 +", RunStatus::kRejected, RunReason::kPolicy, "SyntaxError"},
       }) {
    const Outcome outcome = Run(one.code);
    EXPECT_EQ(outcome.status, one.status) << one.code << ": " << Ending(outcome);
    EXPECT_EQ(outcome.reason, one.reason) << one.code << ": " << Ending(outcome);
    EXPECT_EQ(outcome.error ? outcome.error->type : "", one.error) << one.code;
  }
}

TEST_P(EngineTest, OutputStreamsWhileTheCodeRuns) {
  Guest guest = Guest::Open(*engine_);
  guest.Start({.code = "print('first'); wait(); print('second')", .tools = {"wait"}});
  const ToolCall call = guest.NextCall();
  guest.WaitForOutput("first\n");
  ASSERT_TRUE(guest.Answer(call.seq, Value()));
  EXPECT_EQ(guest.End().stdout_text, "first\nsecond\n");
}

TEST_P(EngineTest, OutputOfABusyRunComesBeforeItsEnd) {
  Guest guest = Guest::Open(*engine_);
  guest.Start({.code = "print('busy')\nwhile True: pass"});
  guest.WaitForOutput("busy\n");
  guest.Cancel();
  EXPECT_EQ(guest.End().status, RunStatus::kCancelled);
}

TEST_P(EngineTest, OutputBeyondItsCapIsDroppedAndTold) {
  Limits limits;
  limits.stdout_bytes = 1000;
  limits.stderr_bytes = 10;
  const Outcome outcome =
      Run("import sys\nprint('x' * 999)\nprint('more')\nsys.stderr.write('0123456789')\n5", limits);
  EXPECT_EQ(outcome.result, Value(5)) << Ending(outcome);
  EXPECT_EQ(outcome.stdout_text, std::string(999, 'x') + "\n");
  EXPECT_TRUE(outcome.stdout_truncated);
  EXPECT_EQ(outcome.stderr_text, "0123456789");
  EXPECT_FALSE(outcome.stderr_truncated);
}

TEST_P(EngineTest, LimitsEndTheRunByTheirName) {
  ExpectLimit("while True: pass", {.wall_time = 100ms}, RunReason::kWallTime);
  ExpectLimit("while True: pass", {.cpu_time = 50ms}, RunReason::kCpuTime);
  ExpectLimit("import time; time.sleep(100)", {.wall_time = 100ms}, RunReason::kWallTime);
  ExpectLimit("bytearray(1 << 30)", {}, RunReason::kMemory);
  ExpectLimit("'x' * 2000", {.result_bytes = 1000}, RunReason::kResult);
  ExpectLimit("for i in range(4):\n  try: call_tool('t')\n  except ToolError: pass",
              {.tool_calls = 3}, RunReason::kToolCalls);
}

TEST_P(EngineTest, SleepingIsNotComputing) {
  const Outcome outcome = Run("import time; time.sleep(0.2); 'up'", {.cpu_time = 100ms});
  EXPECT_EQ(outcome.result, Value(std::string("up"))) << Ending(outcome);
}

TEST_P(EngineTest, TimeoutsHardlyOvershoot) {
  for (const char* code : {"while True: pass", "import time; time.sleep(9)", "sum(range(10**12))",
                           "any(iter(int, 1))", "9**9**9"}) {
    const Outcome outcome = Run(code, {.wall_time = 200ms});
    EXPECT_EQ(outcome.reason, RunReason::kWallTime) << code << ": " << Ending(outcome);
    // The benchmark checks the bar of 5 ms; this only checks that no limit waits for the code.
    EXPECT_LT(outcome.usage.wall, 2s) << code;
  }
}

TEST_P(EngineTest, InputFilesAreReadAndOutputFilesCaptured) {
  const auto input = std::make_shared<const std::string>("a,b\n1,2\n");
  const Outcome outcome = RunRequested(
      *engine_, {.code = "import csv\nrows = list(csv.reader(open('/input/in.csv')))\n"
                         "open('/output/out.txt', 'w').write(str(rows))\n"
                         "open('/tmp/scratch', 'w').write('not captured')\n"
                         "try: open('/input/in.csv', 'w')\nexcept OSError as e: print(e.strerror)",
                 .files = {{.path = "/input/in.csv", .contents = input}}});
  ASSERT_EQ(outcome.files.size(), 1u) << Ending(outcome);
  EXPECT_EQ(outcome.files[0].path, "/output/out.txt");
  EXPECT_EQ(outcome.files[0].change, "created");
  EXPECT_EQ(outcome.files[0].contents, "[['a', 'b'], ['1', '2']]");
  EXPECT_THAT(outcome.stdout_text, Not(::testing::IsEmpty()));
}

TEST_P(EngineTest, FilesThatAreLeftOpenAreCapturedWhole) {
  for (const char* end : {"", "1/0", "raise SystemExit(1)"}) {
    const Outcome outcome =
        Run(std::string("import csv, zipfile\n"
                        "rows = csv.writer(open('/output/a.csv', 'w', newline=''))\n"
                        "rows.writerow([1, 2])\n"
                        "archive = zipfile.ZipFile('/output/a.zip', 'w')\n"
                        "archive.writestr('a', 'b')\n") +
            end);
    ASSERT_EQ(outcome.files.size(), 2U) << Ending(outcome);
    EXPECT_EQ(outcome.files[0].contents, "1,2\r\n");
    EXPECT_THAT(outcome.files[1].contents, HasSubstr("PK\5\6")) << "its directory";
  }
}

TEST_P(EngineTest, ExitHandlersRunWithinTheRunAndItsLimits) {
  const Outcome outcome = Run("import atexit\natexit.register(print, 'bye')\n5");
  EXPECT_EQ(outcome.stdout_text, "bye\n");
  EXPECT_EQ(ResultJson(outcome), "5");
  Limits limits;
  limits.wall_time = std::chrono::milliseconds(200);
  ExpectLimit("import atexit\n@atexit.register\ndef f():\n  while True: pass", limits,
              RunReason::kWallTime);
}

TEST_P(EngineTest, StreamsCanBeReconfiguredAndWrapped) {
  const Outcome outcome =
      Run("import io, sys\n"
          "sys.stdout.reconfigure(encoding='utf-8')\n"
          "print('one')\n"
          "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\n"
          "print('two')");
  EXPECT_EQ(outcome.stdout_text, "one\ntwo\n") << Ending(outcome);
}

TEST_P(EngineTest, FilesCanBeReadByWhoUnpacksAnArchiveOfThem) {
  const Outcome outcome =
      Run("import os, stat\n"
          "open('/tmp/a', 'w').close()\nos.mkdir('/tmp/b')\n"
          "[stat.filemode(os.stat(path).st_mode) for path in ('/tmp/a', '/tmp/b')]");
  EXPECT_EQ(ResultJson(outcome), "[\"-rw-r--r--\",\"drwxr-xr-x\"]");
}

TEST_P(EngineTest, AsManyFilesCanBeOpenAsTheLimitSays) {
  Limits limits;
  limits.open_files = 10;
  const Outcome outcome =
      Run("files = []\n"
          "try:\n  while True: files.append(open('/tmp/a', 'w'))\n"
          "except OSError: pass\n"
          "len(files)",
          limits);
  EXPECT_EQ(ResultJson(outcome), "10") << Ending(outcome);
}

TEST_P(EngineTest, CodeIsAUserWithAHome) {
  EXPECT_EQ(ResultJson(Run("import getpass, os, pathlib\n"
                           "[getpass.getuser(), str(pathlib.Path.home()), os.getuid()]")),
            "[\"user\",\"/tmp\",65534]");
}

TEST_P(EngineTest, PartialWorkIsKeptOnFailure) {
  const Outcome outcome = Run(
      "print('so far')\nopen('/output/f', 'w').write('x')\nwhile True: pass", {.wall_time = 1s});
  EXPECT_EQ(outcome.reason, RunReason::kWallTime);
  EXPECT_EQ(outcome.stdout_text, "so far\n");
  EXPECT_EQ(outcome.files.size(), 1u);
}

TEST_P(EngineTest, FilesBeyondTheirCapAreListedAndOmitted) {
  Limits limits;
  limits.file_bytes = 100;
  const Outcome outcome =
      Run("open('/output/big', 'w').write('x' * 101)\n"
          "open('/output/small', 'w').write('x' * 100)",
          limits);
  ASSERT_EQ(outcome.files.size(), 2u) << Ending(outcome);
  EXPECT_NE(outcome.files[0].omitted, "");
  EXPECT_EQ(outcome.files[0].size, 101u);
  EXPECT_EQ(outcome.files[1].omitted, "");
}

TEST_P(EngineTest, EveryRunDrawsItsOwnChance) {
  const char* code =
      "import random, os, uuid\n[random.random(), os.urandom(8).hex(), str(uuid.uuid4())]";
  EXPECT_NE(Run(code).result, Run(code).result);
}

TEST_P(EngineTest, ManyShortRunsInARow) {
  const int runs = GetParam() == EngineKind::kWasm ? 1000 : 100;
  for (int i = 0; i < runs; ++i) {
    ASSERT_EQ(Run(std::to_string(i) + " * 2").result, Value(i * 2));
  }
}

}  // namespace
}  // namespace caisson::testing
