#include "workflow/run_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/testing/test_loop.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson {
namespace {

using testing::HasSubstr;
using testing::Not;

Value Json(std::string_view text) {
  return *ParseJson(text);
}

// Runs that end as the test says, and are found again by their keys.
class FakeRuns final : public RunService {
 public:
  asio::awaitable<Result<RunView>> Start(IsolationKey, RunSpec spec) override {
    specs.push_back(spec);
    if (refusal) co_return *refusal;
    const std::string key = spec.key->id.str();
    if (by_key.contains(key)) co_return Error(ErrorCode::kFailedPrecondition, "the key exists");
    RunView view{
        .id = RunId("run_" + std::to_string(specs.size())), .state = state, .outcome = outcome};
    by_key.emplace(key, view);
    co_return view;
  }
  asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey, IdempotencyKey key) override {
    const auto found = by_key.find(key.str());
    if (found == by_key.end()) co_return Error(ErrorCode::kNotFound, "no such key");
    co_return KeyedRun{.run = found->second.id};
  }
  asio::awaitable<Result<RunView>> Await(IsolationKey, RunId id, std::set<std::string>,
                                         std::chrono::steady_clock::time_point) override {
    for (const auto& [key, view] : by_key) {
      if (view.id == id) co_return view;
    }
    co_return Error(ErrorCode::kNotFound, "no such run");
  }

  asio::awaitable<Result<RunView>> StartDetached(IsolationKey, RunSpec) override {
    return No<RunView>();
  }
  asio::awaitable<Result<RunView>> Find(IsolationKey, RunId) override { return No<RunView>(); }
  asio::awaitable<Result<Page<RunView>>> List(IsolationKey, std::optional<RunState>,
                                              PageQuery) override {
    return No<Page<RunView>>();
  }
  asio::awaitable<Result<RunView>> Cancel(IsolationKey, RunId) override { return No<RunView>(); }
  asio::awaitable<Result<std::string>> File(IsolationKey, RunId, std::uint32_t) override {
    return No<std::string>();
  }
  asio::awaitable<Result<StoredApproval>> FindApproval(IsolationKey, ApprovalId) override {
    return No<StoredApproval>();
  }
  asio::awaitable<Result<Page<StoredApproval>>> ListApprovals(IsolationKey,
                                                              std::optional<ApprovalState>,
                                                              PageQuery) override {
    return No<Page<StoredApproval>>();
  }
  asio::awaitable<Result<StoredApproval>> Decide(IsolationKey, ApprovalId, Answer) override {
    return No<StoredApproval>();
  }
  asio::awaitable<Result<std::vector<Grant>>> Grants(IsolationKey) override {
    return No<std::vector<Grant>>();
  }
  asio::awaitable<Result<void>> RevokeGrant(IsolationKey, GrantId, std::string) override {
    co_return Result<void>();
  }
  asio::awaitable<void> Close() override { co_return; }

  std::vector<RunSpec> specs;
  std::map<std::string, RunView> by_key;
  RunState state = RunState::kFinished;
  Outcome outcome{.status = RunStatus::kCompleted, .reason = RunReason::kReturned};
  std::optional<Error> refusal;

 private:
  template <typename T>
  static asio::awaitable<Result<T>> No() {
    co_return Error(ErrorCode::kInternal, "not expected");
  }
};

class RunStepsTest : public testing::Test {
 protected:
  StepCall Call(Step step, Value message = Value("hi")) {
    return {.owner = IsolationKey(*Identity::Create({.user = "ann"})),
            .instance = InstanceId("wf_1"),
            .superstep = 2,
            .executor = {.id = ExecutorId("e"), .step = std::move(step)},
            .message = std::move(message),
            .state = Object({{"total", Json("7")}})};
  }
  StepResult Run(StepCall call) {
    auto result = loop_.Await(steps_.Run(std::move(call)));
    EXPECT_TRUE(result) << result.error().message();
    return result ? *result : StepResult(StepFailed{});
  }
  StepFailed Failed(StepCall call) {
    StepResult result = Run(std::move(call));
    const auto* failed = std::get_if<StepFailed>(&result);
    EXPECT_NE(failed, nullptr);
    return failed == nullptr ? StepFailed{} : *failed;
  }

  TestLoop loop_;
  FakeRuns runs_;
  ManualClock clock_;
  RunSteps steps_{{.runs = runs_, .clock = &clock_, .keep = std::chrono::hours(24)}};
};

TEST_F(RunStepsTest, GivesCodeItsInputsAsData) {
  runs_.outcome.result = Json("[1]");
  const std::string evil = "\"); import os; os.system('x') #";
  const StepResult result = Run(Call(CodeStep{.code = "1 + 1"}, Value(evil)));
  EXPECT_EQ(std::get<StepDone>(result).output, Json("[1]"));
  const RunSpec& spec = runs_.specs.at(0);
  EXPECT_EQ(spec.code, "1 + 1");
  ASSERT_EQ(spec.inputs.size(), 1u);
  EXPECT_EQ(spec.inputs[0].path, kInputsFile);
  EXPECT_EQ(*ParseJson(*spec.inputs[0].contents),
            Value(Object({{"message", evil}, {"state", Value(Object({{"total", Json("7")}}))}})));
  EXPECT_EQ(spec.journal, RunJournaling::kAlways);
}

TEST_F(RunStepsTest, CallsAToolWithTheSameTextForEveryTool) {
  Run(Call(ToolStep{.tool = "send",
                    .arguments = Json(R"({"to": {"$message": ""}, "n": {"$state": "/total"}})")}));
  Run(Call(ToolStep{.tool = "other"}, Json(R"({"x": "'''"})")));
  EXPECT_EQ(runs_.specs.at(0).code, runs_.specs.at(1).code);
  EXPECT_EQ(*ParseJson(*runs_.specs[0].inputs[0].contents),
            Json(R"({"tool": "send", "arguments": {"to": "hi", "n": 7}})"));
  EXPECT_EQ(*ParseJson(*runs_.specs[1].inputs[0].contents),
            Json(R"({"tool": "other", "arguments": {"x": "'''"}})"));
}

TEST_F(RunStepsTest, RefusesToCallAToolWithoutArguments) {
  EXPECT_THAT(Failed(Call(ToolStep{.tool = "send"})).error, HasSubstr("needs an object"));
  EXPECT_THAT(
      Failed(Call(ToolStep{.tool = "send", .arguments = Json(R"({"a": {"$message": "/b"}})")}))
          .error,
      HasSubstr("nothing at \"/b\""));
  EXPECT_TRUE(runs_.specs.empty());
}

TEST_F(RunStepsTest, FindsTheRunOfAStepThatIsAskedForAgain) {
  runs_.outcome.result = Json("1");
  Run(Call(CodeStep{.code = "1"}));
  runs_.outcome.result = Json("2");
  EXPECT_EQ(std::get<StepDone>(Run(Call(CodeStep{.code = "1"}))).output, Json("1"));
  StepCall again = Call(CodeStep{.code = "1"});
  again.begun_before = clock_.Now();
  const std::size_t started = runs_.specs.size();
  EXPECT_EQ(std::get<StepDone>(Run(again)).output, Json("1"));
  EXPECT_EQ(runs_.specs.size(), started);
}

TEST_F(RunStepsTest, GivesStepsOfOtherPlacesAndMessagesKeysOfTheirOwn) {
  const auto key = [&](std::function<void(StepCall&)> change) {
    StepCall call = Call(CodeStep{.code = "1"});
    change(call);
    Run(std::move(call));
    return runs_.specs.back().key->id.str();
  };
  const std::string usual = key([](StepCall&) {});
  EXPECT_EQ(usual, key([](StepCall&) {}));
  EXPECT_NE(usual, key([](StepCall& call) { call.instance = InstanceId("wf_2"); }));
  EXPECT_NE(usual, key([](StepCall& call) { call.superstep = 3; }));
  EXPECT_NE(usual, key([](StepCall& call) { call.index = 1; }));
  EXPECT_NE(usual, key([](StepCall& call) { call.message = Value("ho"); }));
  EXPECT_NE(usual, key([](StepCall& call) { call.state = Dict(); }));
}

TEST_F(RunStepsTest, DoesNotRepeatAStepWhoseRunIsNotKeptAnyMore) {
  StepCall call = Call(CodeStep{.code = "1"});
  call.begun_before = clock_.Now();
  clock_.Advance(std::chrono::hours(23));
  Run(call);
  EXPECT_EQ(runs_.specs.size(), 1u) << "It is known not to have begun.";
  runs_.by_key.clear();
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(Failed(call).fault, WorkflowFault::kUncertain);
  EXPECT_EQ(runs_.specs.size(), 1u);
}

TEST_F(RunStepsTest, WaitsForTheApprovalsOfTheRun) {
  runs_.state = RunState::kWaiting;
  runs_.outcome.status = RunStatus::kWaiting;
  runs_.outcome.approvals = {{.id = "apr_1"}, {.id = "apr_2"}};
  const StepResult result = Run(Call(CodeStep{.code = "1"}));
  const auto& waits = std::get<StepWaits>(result);
  ASSERT_EQ(waits.approvals.size(), 2u);
  EXPECT_EQ(waits.approvals[1].id, ApprovalId("apr_2"));
  EXPECT_EQ(waits.approvals[1].run, RunId("run_1"));
}

TEST_F(RunStepsTest, SaysHowTheRunEnded) {
  runs_.outcome = {.run_id = "run_1",
                   .status = RunStatus::kFailed,
                   .reason = RunReason::kRaised,
                   .error = RunError{.type = "ValueError", .message = "bad"}};
  EXPECT_THAT(Failed(Call(CodeStep{.code = "1"})).error, HasSubstr("ValueError: bad"));
  runs_.outcome.calls = {{.seq = 0, .tool = "send", .outcome = "uncertain"}};
  const StepFailed failed = Failed(Call(CodeStep{.code = "2"}, Value("2")));
  EXPECT_EQ(failed.fault, WorkflowFault::kUncertain);
  EXPECT_THAT(failed.error, HasSubstr("the call of \"send\" may or may not have happened"));
  runs_.outcome = {
      .status = RunStatus::kCompleted, .reason = RunReason::kReturned, .result_repr = "<object>"};
  EXPECT_THAT(Failed(Call(CodeStep{.code = "3"}, Value("3"))).error,
              HasSubstr("no JSON value: <object>"));
}

TEST_F(RunStepsTest, LeavesTheStepOpenIfTheRunCouldNotBegin) {
  runs_.refusal = Error(ErrorCode::kUnavailable, "the store is down");
  EXPECT_EQ(loop_.Await(steps_.Run(Call(CodeStep{.code = "1"}))).error().code(),
            ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace caisson
