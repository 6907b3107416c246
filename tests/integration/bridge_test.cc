// Tools of every kind, called by code in a real cell.
#include "tools/bridge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fstream>
#include <future>
#include <optional>

#include "base/sanitized.h"
#include "base/spawn.h"
#include "tests/integration/engines.h"
#include "tests/integration/guest.h"
#include "tools/command/command_tool.h"
#include "wire/json.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class BridgeTest : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { engine_.reset(); }
  void SetUp() override {
    if (!engine_) engine_ = StartWasm();
  }
  void TearDown() override {
    if (engine_) EXPECT_EQ(engine_->stats().workers_lost, 0u);  // Without one, it was skipped.
  }

  void Add(ToolDefinition definition, std::string_view schema, ToolBody body) {
    definition.input_schema = *ParseJson(schema);
    ASSERT_TRUE(registry_.Add(*Tool::Make(std::move(definition), std::move(body))));
  }

  void AddCounting() {
    Add({.name = "add"},
        R"({"required":["a","b"],"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}})",
        Inline([](const Dict& given) {
          return Value(*given.Find("a")->If<std::int64_t>() + *given.Find("b")->If<std::int64_t>());
        }));
  }

  Outcome Run(std::string code, Limits limits = {}) {
    RunRequest request{.code = std::move(code), .limits = limits};
    for (const auto& tool : registry_.Snapshot()->tools()) request.tools.push_back(tool->name());
    std::promise<Outcome> outcome;
    Spawn(engine_->lane_executor(0), Perform(std::move(request), outcome));
    return outcome.get_future().get();
  }

  asio::awaitable<void> Perform(RunRequest request, std::promise<Outcome>& outcome) {
    auto cell = co_await engine_->Open({.owner = OwnerId("ann")});
    ToolBridge bridge(**cell, registry_.Snapshot(), {.pool = io_.get_executor()});
    auto result = co_await (*cell)->Run(std::move(request), bridge, AfterRun::kDiscard);
    co_await bridge.Close();
    outcome.set_value(*std::move(result));
  }

  static std::string Json(const Outcome& outcome) {
    if (!outcome.result) return caisson::ToJson(outcome, FileData::kOmit);
    return *ToJson(*outcome.result);
  }

  static std::unique_ptr<WasmEngine> engine_;
  asio::thread_pool io_{1};
  ToolRegistry registry_;
};
std::unique_ptr<WasmEngine> BridgeTest::engine_;

TEST_F(BridgeTest, CallsInEverySpelling) {
  AddCounting();
  EXPECT_EQ(
      Json(
          Run("import asyncio\n"
              "r = [add(1, 2), add(1, b=2), await add(a=1, b=2), call_tool('add', {'a': 1}, b=2)]\n"
              "r + await asyncio.gather(add(3, 4), add(5, 6))")),
      "[3,3,3,3,7,11]");
}

TEST_F(BridgeTest, ABadCallRaisesWhereItIsMade) {
  AddCounting();
  EXPECT_EQ(Json(Run("try: add(a=1, c=2)\nexcept ToolError as e: r = [e.type, e.message]\nr")),
            R"j(["TypeError","add: there is no argument \"c\". Call it as add(a: int, b: int)"])j");
}

TEST_F(BridgeTest, EveryKindSideBySide) {
  AddCounting();
  Add({.name = "shell"}, R"({"properties":{"n":{"type":"integer"}}})",
      Command({.argv = {"/bin/cat"}}, io_.get_executor(), [](std::string_view) {}));
  Add({.name = "pooled"}, R"({"properties":{"n":{}}})",
      Pooled(io_.get_executor(), [](const Dict& given) { return Value(given); }));
  EXPECT_EQ(
      Json(Run(
          "import asyncio\n"
          "await asyncio.gather(*[f(n=i) for i in range(3) for f in (shell, pooled)], add(1, 2))")),
      R"([{"n":0},{"n":0},{"n":1},{"n":1},{"n":2},{"n":2},3])");
}

TEST_F(BridgeTest, ARunThatEndsTakesItsCommandsAlong) {
  Add({.name = "hang"}, "{}",
      Command({.argv = {"/bin/sleep", "1000"}}, io_.get_executor(), [](std::string_view) {}));
  Limits limits;
  limits.wall_time = 200ms;
  const Outcome outcome = Run("hang()", limits);
  EXPECT_EQ(outcome.status, RunStatus::kLimit);  // Run returned, so the command is gone.
}

TEST_F(BridgeTest, AFailingCallIsAloneWithIt) {
  AddCounting();
  EXPECT_EQ(
      Json(Run(
          "import asyncio\n"
          "r = await asyncio.gather(add(1, 2), add('x', 2), add(3, 4), return_exceptions=True)\n"
          "[r[0], type(r[1]).__name__, r[2]]")),
      R"([3,"ToolError",7])");
}

TEST_F(BridgeTest, AThousandCallsAtOnce) {
  AddCounting();
  EXPECT_EQ(Json(Run("import asyncio\n"
                     "r = await asyncio.gather(*[add(i, 1) for i in range(1000)])\n"
                     "r == list(range(1, 1001))")),
            "true");
}

// The peak memory of this process since Reset().
class PeakMemory {
 public:
  static void Reset() { std::ofstream("/proc/self/clear_refs") << "5"; }
  static std::uint64_t Bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      std::uint64_t kilobytes = 0;
      if (word == "VmHWM:" && status >> kilobytes) return kilobytes << 10;
    }
    return 0;
  }
};

constexpr std::uint64_t kMaxGrowthPerRun = 64u << 20;

TEST_F(BridgeTest, LargeArgumentsDoNotGrowTheHostBeyondWhatARunMayTake) {
  Add({.name = "keep"}, R"({"properties":{"x":{}}})",
      Awaitable([](const Dict&) -> asio::awaitable<Value> { co_return Value(true); }));
  Limits limits;
  limits.memory_bytes = 512u << 20;
  limits.wall_time = limits.cpu_time = 60s;
  EXPECT_EQ(Json(Run("keep(1)")), "true");
  PeakMemory::Reset();
  const std::uint64_t before = PeakMemory::Bytes();
  // One byte each on the wire, 40 in the host: 320 MB for each call.
  const Outcome outcome =
      Run("import asyncio\n"
          "big = [None] * 8_000_000\n"
          "r = await asyncio.gather(*[keep(big) for _ in range(8)], return_exceptions=True)\n"
          "[str(e) for e in r]",
          limits);
  EXPECT_THAT(Json(outcome), HasSubstr("16777216 bytes"));
  if (!kIsSanitized) EXPECT_LE(PeakMemory::Bytes() - before, kMaxGrowthPerRun);
  EXPECT_EQ(Json(Run("keep(1)")), "true");
}

TEST_F(BridgeTest, LargeArgumentsWithinTheLimitAreServedOneAfterTheOther) {
  Add({.name = "count"}, R"({"properties":{"x":{"type":"array"}}})",
      Awaitable([](const Dict& given) -> asio::awaitable<Value> {
        co_return Value(static_cast<std::int64_t>(given.Find("x")->If<List>()->items.size()));
      }));
  Limits limits;
  limits.wall_time = limits.cpu_time = 60s;
  EXPECT_EQ(Json(Run("count([1])")), "1");
  PeakMemory::Reset();
  const std::uint64_t before = PeakMemory::Bytes();
  const std::string calls = kIsSanitized ? "4" : "40";  // Decoding takes a second each there.
  EXPECT_EQ(Json(Run("import asyncio\n"
                     "big = [None] * 300_000\n"
                     "r = await asyncio.gather(*[count(big) for _ in range(" +
                         calls + ")])\nr == [300_000] * " + calls,
                     limits)),
            "true");
  if (!kIsSanitized) EXPECT_LE(PeakMemory::Bytes() - before, kMaxGrowthPerRun);
}

TEST_F(BridgeTest, MoreOpenCallsThanARunMayHaveRaiseLimitError) {
  AddCounting();
  // The first calls take as long as the code may need to make all of them; the others end at once.
  std::optional<std::chrono::steady_clock::time_point> end;
  Add({.name = "slow"}, "{}", Awaitable([&end](const Dict&) -> asio::awaitable<Value> {
        if (!end) end = std::chrono::steady_clock::now() + (kIsSanitized ? 10s : 500ms);
        asio::steady_timer timer(co_await asio::this_coro::executor, *end);
        co_await timer.async_wait(asio::use_awaitable);
        co_return Value(true);
      }));
  Limits limits;
  limits.tool_calls = 3000;
  limits.wall_time = limits.cpu_time = 60s;
  EXPECT_EQ(
      Json(Run("import asyncio\n"
               "r = await asyncio.gather(*[slow() for _ in range(1500)], return_exceptions=True)\n"
               "bad = [e for e in r if e is not True]\n"
               "[len(r), 0 < len(bad) <= 1500 - 1024, str(bad[0]), add(1, 2)]",
               limits)),
      R"([1500,true,"LimitError: a run can have 1024 calls open at once; wait for some of )"
      R"(them before you call again",3])");
}

// Answers to code that reads them, and to code that does not.
class AnswersTest : public OnEachEngine {
 protected:
  static constexpr std::size_t kAnswerBytes = 1u << 20;

  void SetUp() override {
    if (GetParam() == EngineKind::kWasm) {
      auto engine = StartWasm();
      executor_ = engine->lane_executor(0);
      engine_ = std::move(engine);
    } else {
      auto engine =
          StartNative(GetParam() == EngineKind::kForeign ? ForeignOptions() : NativeOptions());
      executor_ = engine->lane_executor(0);
      engine_ = std::move(engine);
    }
    const auto large = [this](const Dict&) {
      ++made_;
      return Value(std::string(kAnswerBytes, 'x'));
    };
    Add("soon", Awaitable([large](const Dict& given) -> asio::awaitable<Value> {
          asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
          co_await timer.async_wait(asio::use_awaitable);
          co_return large(given);
        }));
    Add("now", Inline(large));
  }

  void Add(std::string name, ToolBody body) {
    ASSERT_TRUE(registry_.Add(
        *Tool::Make({.name = std::move(name), .input_schema = Value(Dict())}, std::move(body))));
  }

  Outcome Run(std::string code, std::chrono::seconds wall_time) {
    RunRequest request{.code = std::move(code), .tools = {"soon", "now"}};
    request.limits.wall_time = request.limits.cpu_time = wall_time;
    request.limits.tool_calls = 2000;
    std::promise<Outcome> outcome;
    Spawn(executor_, [&]() -> asio::awaitable<void> {
      auto cell = co_await engine_->Open({.owner = OwnerId("ann")});
      ToolBridge bridge(**cell, registry_.Snapshot(), {.pool = io_.get_executor()});
      auto result = co_await (*cell)->Run(std::move(request), bridge, AfterRun::kDiscard);
      co_await bridge.Close();
      outcome.set_value(*std::move(result));
    });
    return outcome.get_future().get();
  }

  std::unique_ptr<Engine> engine_;
  asio::any_io_executor executor_;
  asio::thread_pool io_{1};
  ToolRegistry registry_;
  std::atomic<int> made_ = 0;
};
INSTANTIATE_ON_BOTH_ENGINES(AnswersTest);

TEST_P(AnswersTest, ThatNobodyReadsTakeOnlyWhatARunMayTake) {
  for (const std::string tool : {"soon", "now"}) {
    EXPECT_EQ(ResultJson(Run("len(" + tool + "())", 10s)), std::to_string(kAnswerBytes));
    made_ = 0;
    PeakMemory::Reset();
    const std::uint64_t before = PeakMemory::Bytes();
    const Outcome outcome =
        Run("import asyncio, time\n"
            "calls = [asyncio.ensure_future(" +
                tool +
                "()) for _ in range(1024)]\n"
                "await asyncio.sleep(0.01)\n"
                "while True: pass",
            4s);
    EXPECT_EQ(outcome.status, RunStatus::kLimit) << Ending(outcome);
    if (!kIsSanitized) EXPECT_LE(PeakMemory::Bytes() - before, kMaxGrowthPerRun);
    EXPECT_GT(made_, 1);
    // Calls are not made for answers that wait in the host.
    if (GetParam() != EngineKind::kWasm) EXPECT_LT(made_, 64);
  }
  EXPECT_EQ(engine_->stats().workers_lost, 0u);
}

TEST_P(AnswersTest, ThatAreReadAreNotLimitedTogether) {
  for (const std::string tool : {"soon", "now"}) {
    EXPECT_EQ(ResultJson(Run("import asyncio\n"
                             "sum(map(len, await asyncio.gather(*[" +
                                 tool + "() for _ in range(80)])))",
                             30s)),
              std::to_string(80 * kAnswerBytes));
  }
}

}  // namespace
}  // namespace caisson::testing
