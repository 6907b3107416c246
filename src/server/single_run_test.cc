#include "server/single_run.h"

#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/run_here.h"
#include "engine/fake/fake_engine.h"
#include "identity/local_resolver.h"
#include "runs/journaled_runs.h"
#include "server/background_loop.h"
#include "server/host_state.h"

namespace caisson {
namespace {

void Ignore(OutputStream /*stream*/, std::string_view /*bytes*/) {}

class SingleRunTest : public ::testing::Test {
 protected:
  ~SingleRunTest() override {
    RunHere(runs_.Close());
    RunHere(runner_.Close());
    lane_.join();
  }

  static RunSpec Code() { return {.code = "x"}; }
  // Code that calls `send`, which needs an approval, and then completes.
  static FakeScript Sends() {
    return {.steps = {FakeOutput{.text = "before\n"}, FakeCall{.tool = "send"},
                      FakeOutput{.text = "after\n"}},
            .outcome = {.status = RunStatus::kCompleted}};
  }
  static std::shared_ptr<const CodeSetting> Setting() {
    CodeSetting setting;
    setting.tools = std::make_shared<const ToolSet>(std::vector<std::shared_ptr<const Tool>>{
        *Tool::Make({.name = "send", .approval = Approval::Always()},
                    Inline([](const Dict&) { return Value("sent"); }))});
    return std::make_shared<const CodeSetting>(std::move(setting));
  }
  Result<RunView> Perform(RunSpec request, SingleRun::Ask ask = {}) {
    return SingleRun(runs_, owner_).Perform(std::move(request), Ignore, std::move(ask));
  }

  const IsolationKey owner_{LocalIdentity()};
  asio::thread_pool lane_{1};
  FakeEngine engine_{lane_.get_executor()};
  CodeRunner runner_{engine_};
  const std::unique_ptr<HostState> state_ = *HostState::OpenInMemory(Config());
  BackgroundLoop loop_;
  JournaledRuns runs_{{.engine = engine_,
                       .runner = runner_,
                       .store = state_->store(),
                       .desk = state_->desk(),
                       .notifier = state_->notifier(),
                       .keys = state_->keys(),
                       .executor = loop_.executor(),
                       .setting = Setting(),
                       .settings = state_->runs()}};
};

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
  SingleRun run(runs_, owner_);
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
  const auto outcome = Perform(Code());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
}

TEST_F(SingleRunTest, CancelledBeforeItBeginsNothingIsExecuted) {
  engine_.Push({.outcome = {.status = RunStatus::kCompleted}});
  SingleRun run(runs_, owner_);
  run.Cancel();
  run.Cancel();
  const auto outcome = run.Perform(Code(), Ignore);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->outcome.status, RunStatus::kCancelled);
  EXPECT_TRUE(engine_.requests().empty());
}

TEST_F(SingleRunTest, CancelAfterTheEndIsHarmless) {
  engine_.Push({.outcome = {.status = RunStatus::kCompleted}});
  SingleRun run(runs_, owner_);
  const auto outcome = run.Perform(Code(), Ignore);
  run.Cancel();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->outcome.status, RunStatus::kCompleted);
}

TEST_F(SingleRunTest, AnAnswerDecidesTheCallAndOutputIsStreamedToTheEnd) {
  for (const auto verdict : {ApprovalState::kApproved, ApprovalState::kDenied}) {
    engine_.Push(Sends());
    std::string out;
    std::string asked;
    const std::thread::id caller = std::this_thread::get_id();
    const auto view = SingleRun(runs_, owner_)
                          .Perform(
                              Code(), [&](OutputStream, std::string_view bytes) { out += bytes; },
                              [&](const StoredApproval& approval) {
                                EXPECT_EQ(std::this_thread::get_id(), caller);
                                asked += approval.asked.binding.tool + approval.asked.arguments;
                                return Answer{.verdict = verdict, .by = "ann"};
                              });
    ASSERT_TRUE(view) << view.error().message();
    EXPECT_EQ(asked, "send{}");  // Once.
    EXPECT_EQ(out, "before\nafter\n");
    EXPECT_EQ(view->outcome.calls.at(0).outcome,
              verdict == ApprovalState::kApproved ? "returned" : "denied");
  }
}

TEST_F(SingleRunTest, ARunThatIsCancelledWhileItAsksLeavesTheCallUndone) {
  engine_.Push(Sends());
  SingleRun run(runs_, owner_);
  const auto view = run.Perform(Code(), Ignore, [&](const StoredApproval&) {
    run.Cancel();
    return std::optional<Answer>();
  });
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ(view->outcome.status, RunStatus::kCancelled);
  EXPECT_EQ(view->outcome.calls.at(0).outcome, "pending");
}

// The answer is awaited on the thread that the run's news come to. The news are queued first. A run
// in a session is asked about in both ways, because it cannot be stored while it waits.
TEST_F(SingleRunTest, ACancellationThatComesRightAfterNewsIsNotLost) {
  for (const auto asks : {SingleRun::Asks::kAtOnce, SingleRun::Asks::kIfLost}) {
    engine_.Push(Sends());
    SingleRun run(runs_, owner_);
    const auto give_up = [&](const StoredApproval&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      run.Cancel();
      return std::optional<Answer>();
    };
    const auto view = run.Perform({.code = "x", .session = "s", .restart = Restart::kIfLost},
                                  Ignore, give_up, asks);
    ASSERT_TRUE(view) << view.error().message();
    EXPECT_EQ(view->outcome.status, RunStatus::kCancelled);
  }
}

TEST_F(SingleRunTest, ApprovalBeforehandAsksNobodyAndNoApprovalDenies) {
  const auto nobody = [](const StoredApproval&) -> std::optional<Answer> {
    ADD_FAILURE() << "asked";
    return std::nullopt;
  };
  engine_.Push(Sends());
  auto view = Perform({.code = "x", .approvals = Approvals::kAll}, nobody);
  EXPECT_EQ(view->outcome.calls.at(0).outcome, "returned");
  engine_.Push(Sends());
  view = Perform({.code = "x", .approvals = Approvals::kNone}, nobody);
  EXPECT_EQ(view->outcome.calls.at(0).outcome, "denied");
}

TEST_F(SingleRunTest, WhatHasEndedInMemoryIsForgotten) {
  engine_.Push(Sends());
  const auto asked = Perform(Code(), [](const StoredApproval&) {
    return Answer{.verdict = ApprovalState::kApproved, .by = "ann"};
  });
  ASSERT_TRUE(asked);
  const auto left = RunHere(state_->store().runs().Find(owner_, asked->id));
  ASSERT_TRUE(left) << left.error().message();
  EXPECT_EQ(left->outcome.find("before"), std::string::npos);
  engine_.Push({.outcome = {.status = RunStatus::kCompleted}});
  const auto plain = Perform({.code = "x", .approvals = Approvals::kNone});
  EXPECT_EQ(RunHere(runs_.Find(owner_, plain->id)).error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace caisson
