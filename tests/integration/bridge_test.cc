// Tools of every kind, called by code in a real cell.
#include "tools/bridge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>
#include <future>

#include "base/spawn.h"
#include "tests/integration/guest.h"
#include "tools/command/command.h"
#include "wire/json.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class BridgeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { engine_ = StartWasm(); }
  static void TearDownTestSuite() { engine_.reset(); }
  void TearDown() override { EXPECT_EQ(engine_->stats().workers_lost, 0u); }

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
    ToolBridge bridge(**cell, registry_.Snapshot(), {});
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
  EXPECT_EQ(outcome.status, RunStatus::kLimit);  // And Run returned: the command is gone.
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

}  // namespace
}  // namespace caisson::testing
