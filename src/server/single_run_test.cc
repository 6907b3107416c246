#include "server/single_run.h"

#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>
#include <string>
#include <thread>

#include "engine/fake/fake_engine.h"

namespace caisson {
namespace {

class SingleRunTest : public ::testing::Test {
 protected:
  ~SingleRunTest() override { lane_.join(); }

  asio::thread_pool lane_{1};
  FakeEngine engine_{lane_.get_executor()};
};

void Ignore(OutputStream /*stream*/, std::string_view /*bytes*/) {}

TEST_F(SingleRunTest, OutputArrivesOnTheCallingThreadAndIsCompleteAtTheEnd) {
  FakeScript script;
  script.outcome.status = RunStatus::kCompleted;
  for (int i = 0; i < 100; ++i) {
    script.steps.emplace_back(FakeOutput{.text = std::to_string(i) + "\n"});
  }
  script.steps.emplace_back(FakeOutput{.stream = OutputStream::kStderr, .text = "bad"});
  engine_.Push(script);
  std::string out;
  std::string err;
  SingleRun run(engine_);
  const std::thread::id caller = std::this_thread::get_id();
  const auto outcome = run.Perform({.code = "x"}, [&](OutputStream stream, std::string_view bytes) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    (stream == OutputStream::kStdout ? out : err) += bytes;
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->status, RunStatus::kCompleted);
  EXPECT_EQ(out, outcome->stdout_text);
  EXPECT_EQ(err, "bad");
}

TEST_F(SingleRunTest, ACallIsToldThatThereAreNoTools) {
  engine_.Push({.steps = {FakeCall{.tool = "send"}, FakeCall{.tool = "send"}},
                .outcome = {.status = RunStatus::kCompleted}});
  const auto outcome = SingleRun(engine_).Perform({.code = "x"}, Ignore);
  ASSERT_TRUE(outcome);
  ASSERT_EQ(engine_.answers().size(), 2U);
  const auto* raised = std::get_if<ToolRaised>(&engine_.answers()[0].second);
  ASSERT_NE(raised, nullptr);
  EXPECT_EQ(raised->message, "no tools are configured");
}

TEST_F(SingleRunTest, AnEngineThatHasNoCellIsAnError) {
  engine_.FailNextOpen(Error(ErrorCode::kUnavailable, "no walls"));
  const auto outcome = SingleRun(engine_).Perform({.code = "x"}, Ignore);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
}

TEST_F(SingleRunTest, CancelledBeforeItBeginsNothingIsExecuted) {
  engine_.Push({.outcome = {.status = RunStatus::kCompleted}});
  SingleRun run(engine_);
  run.Cancel();
  run.Cancel();
  const auto outcome = run.Perform({.code = "x"}, Ignore);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, RunStatus::kCancelled);
  EXPECT_TRUE(engine_.requests().empty());
}

TEST_F(SingleRunTest, CancelAfterTheEndIsHarmless) {
  engine_.Push({.outcome = {.status = RunStatus::kCompleted}});
  SingleRun run(engine_);
  const auto outcome = run.Perform({.code = "x"}, Ignore);
  run.Cancel();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, RunStatus::kCompleted);
}

TEST(RefusedForLength, SaysWhichLimitAndHowToGoOn) {
  const Outcome outcome = RefusedForLength({.code_bytes = 7}, {.engine = "wasm", .tier = "none"});
  EXPECT_EQ(outcome.status, RunStatus::kRejected);
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_EQ(outcome.findings[0].rule, "code_bytes");
  EXPECT_NE(outcome.findings[0].message.find('7'), std::string::npos);
}

}  // namespace
}  // namespace caisson
