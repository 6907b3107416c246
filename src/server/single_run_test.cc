#include "server/single_run.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <string>
#include <thread>

#include "base/spawn.h"
#include "engine/fake/fake_engine.h"

namespace caisson {
namespace {

class SingleRunTest : public ::testing::Test {
 protected:
  ~SingleRunTest() override {
    asio::io_context context;
    Spawn(context.get_executor(), runner_.Close());
    context.run();
    lane_.join();
  }

  static CellRun Code() { return {.owner = OwnerId("local"), .code = "x"}; }

  asio::thread_pool lane_{1};
  FakeEngine engine_{lane_.get_executor()};
  CodeRunner runner_{engine_};
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
  SingleRun run(runner_);
  const std::thread::id caller = std::this_thread::get_id();
  const auto outcome = run.Perform(Code(), [&](OutputStream stream, std::string_view bytes) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    (stream == OutputStream::kStdout ? out : err) += bytes;
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(out, outcome->outcome.stdout_text);
  EXPECT_EQ(err, "bad");
}

TEST_F(SingleRunTest, AnEngineThatHasNoCellIsAnError) {
  engine_.FailNextOpen(Error(ErrorCode::kUnavailable, "no walls"));
  const auto outcome = SingleRun(runner_).Perform(Code(), Ignore);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
}

TEST_F(SingleRunTest, CancelledBeforeItBeginsNothingIsExecuted) {
  engine_.Push({.outcome = {.status = RunStatus::kCompleted}});
  SingleRun run(runner_);
  run.Cancel();
  run.Cancel();
  const auto outcome = run.Perform(Code(), Ignore);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->outcome.status, RunStatus::kCancelled);
  EXPECT_TRUE(engine_.requests().empty());
}

TEST_F(SingleRunTest, CancelAfterTheEndIsHarmless) {
  engine_.Push({.outcome = {.status = RunStatus::kCompleted}});
  SingleRun run(runner_);
  const auto outcome = run.Perform(Code(), Ignore);
  run.Cancel();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->outcome.status, RunStatus::kCompleted);
}

}  // namespace
}  // namespace caisson
