#include "workflow/workflow_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <set>

#include "base/testing/test_loop.h"
#include "wire/json.h"
#include "wire/object.h"
#include "workflow/builder.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Value Json(std::string_view text) {
  return *ParseJson(text);
}
MessageType Type(const char* word) {
  return *MessageType::FromSchema(Value(word));
}
CodeStep Code() {
  return {.code = "1"};
}
IsolationKey Owner(const char* name) {
  return IsolationKey(*Identity::Create({.tenant = "acme", .user = name}));
}

// Checkpoints in memory, which can begin to fail.
class FakeCheckpoints final : public CheckpointStore {
 public:
  asio::awaitable<Result<void>> Append(IsolationKey owner, InstanceId instance,
                                       std::optional<CheckpointId> expected,
                                       Checkpoint checkpoint) override {
    if (appends_left_ == 0) co_return Error(ErrorCode::kUnavailable, "the store is down");
    auto& chain = chains_[{owner, instance}];
    const auto head = chain.empty() ? std::nullopt : std::optional(chain.back().id);
    if (head != expected) co_return Error(ErrorCode::kFailedPrecondition, "another head");
    chain.push_back(std::move(checkpoint));
    if (appends_left_ > 0) --appends_left_;
    co_return Result<void>();
  }
  asio::awaitable<Result<Checkpoint>> Head(IsolationKey owner, InstanceId instance) override {
    const auto found = chains_.find({owner, instance});
    if (found == chains_.end()) co_return Error(ErrorCode::kNotFound, "no such checkpoint");
    co_return found->second.back();
  }
  asio::awaitable<Result<Checkpoint>> Find(IsolationKey owner, InstanceId instance,
                                           CheckpointId id) override {
    for (const Checkpoint& each : chains_[{owner, instance}]) {
      if (each.id == id) co_return each;
    }
    co_return Error(ErrorCode::kNotFound, "no such checkpoint");
  }
  asio::awaitable<Result<std::vector<CheckpointId>>> List(IsolationKey owner,
                                                          InstanceId instance) override {
    std::vector<CheckpointId> ids;
    for (const Checkpoint& each : chains_[{owner, instance}]) ids.push_back(each.id);
    co_return ids;
  }
  asio::awaitable<Result<void>> Prune(IsolationKey owner, InstanceId instance,
                                      std::uint32_t keep) override {
    auto& chain = chains_[{owner, instance}];
    while (chain.size() > keep) chain.erase(chain.begin());
    co_return Result<void>();
  }

  void FailAfter(int appends) { appends_left_ = appends; }

 private:
  std::map<std::pair<IsolationKey, InstanceId>, std::vector<Checkpoint>> chains_;
  int appends_left_ = -1;
};

// Steps that count their effects. Like runs, they remember what they did.
class FakeSteps final : public StepRunner {
 public:
  using Work = std::function<asio::awaitable<Result<StepResult>>(const StepCall&)>;

  asio::awaitable<Result<StepResult>> Run(StepCall call) override {
    calls_.push_back(call);
    const std::string digest = *StepDigest(call);
    if (const auto known = done_.find(digest); known != done_.end()) co_return known->second;
    const auto found = works_.find(call.executor.id.str());
    Result<StepResult> result = StepResult(StepDone{.output = call.message});
    if (found != works_.end()) result = co_await found->second(call);
    if (result && std::holds_alternative<StepDone>(*result)) {
      ++effects_[call.executor.id.str()];
      done_.emplace(digest, *result);
    }
    co_return result;
  }

  void On(const std::string& executor, Work work) { works_[executor] = std::move(work); }
  void OnSimply(const std::string& executor, std::function<StepResult(const StepCall&)> work) {
    On(executor,
       [work = std::move(work)](const StepCall& call) -> asio::awaitable<Result<StepResult>> {
         co_return work(call);
       });
  }
  const std::vector<StepCall>& calls() const { return calls_; }
  const std::map<std::string, int>& effects() const { return effects_; }

 private:
  std::map<std::string, Work> works_;
  std::vector<StepCall> calls_;
  std::map<std::string, StepResult> done_;
  std::map<std::string, int> effects_;
};

class FakeAudit final : public AuditLog {
 public:
  asio::awaitable<Result<void>> Append(IsolationKey, AuditEvent event) override {
    events.push_back(std::move(event));
    co_return Result<void>();
  }
  asio::awaitable<Result<std::vector<AuditEntry>>> Read(IsolationKey, std::int64_t,
                                                        std::uint32_t) override {
    co_return std::vector<AuditEntry>();
  }
  asio::awaitable<Result<AuditHead>> Head(IsolationKey) override { co_return AuditHead(); }

  std::vector<AuditEvent> events;
};

// draft -> review (a person) -> send, and on "no" back to draft.
WorkflowBuilder Report() {
  return WorkflowBuilder("report")
      .AddCode("draft", Code(), {.save_as = "draft"})
      .AddRequest("review", {.prompt = "Send it?"}, {.output = Type("boolean")})
      .AddCode("send", Code())
      .AddEdge("draft", "review")
      .AddEdge("review", "send", {.when = *Schema::Compile(Json(R"({"const": true})"))})
      .AddEdge("review", "draft",
               {.when = *Schema::Compile(Json(R"({"const": false})")), .limit = 2})
      .Start("draft");
}

class WorkflowServiceTest : public testing::Test {
 protected:
  WorkflowService Service(std::vector<std::shared_ptr<const Workflow>> workflows) {
    return WorkflowService({.checkpoints = checkpoints_,
                            .steps = steps_,
                            .workflows = std::move(workflows),
                            .audit = &audit_,
                            .caller_host = &host_,
                            .clock = &clock_});
  }
  static std::shared_ptr<const Workflow> Built(const WorkflowBuilder& builder) {
    auto built = builder.Build();
    EXPECT_TRUE(built) << built.error().message();
    return *built;
  }
  WorkflowView Must(asio::awaitable<Result<WorkflowView>> work) {
    auto view = loop_.Await(std::move(work));
    EXPECT_TRUE(view) << view.error().message();
    return view ? *view : WorkflowView{.instance = InstanceId("")};
  }
  Error Refused(asio::awaitable<Result<WorkflowView>> work) {
    auto view = loop_.Await(std::move(work));
    EXPECT_FALSE(view);
    return view ? Error(ErrorCode::kInternal, "") : view.error();
  }

  TestLoop loop_;
  FakeCheckpoints checkpoints_;
  FakeSteps steps_;
  FakeAudit audit_;
  CallerHost host_{{}};
  ManualClock clock_;
  const IsolationKey ann_ = Owner("ann");
  const IsolationKey bob_ = Owner("bob");
};

TEST_F(WorkflowServiceTest, WaitsForAPersonAndGoesOnInAnotherProcess) {
  const auto report = Built(Report());
  WorkflowView view{.instance = InstanceId("")};
  {
    WorkflowService service = Service({report});
    view = Must(service.Start(ann_, {.workflow = "report", .input = Value("Q3")}));
  }
  EXPECT_EQ(view.status, InstanceStatus::kWaiting);
  ASSERT_THAT(view.requests, SizeIs(1));
  EXPECT_EQ(view.requests[0].message, Value("Q3"));

  WorkflowService other = Service({report});
  view = Must(other.Resume(ann_, {.instance = view.instance,
                                  .answers = {{view.requests[0].id, Value(true)}},
                                  .answered_by = "ann"}));
  EXPECT_EQ(view.status, InstanceStatus::kCompleted);
  ASSERT_THAT(view.outputs, SizeIs(1));
  EXPECT_EQ(view.outputs[0].value, Value(true));
  ASSERT_THAT(audit_.events, SizeIs(1));
  EXPECT_EQ(audit_.events[0].kind, "workflow.answered");
  EXPECT_THAT(audit_.events[0].body, HasSubstr("\"by\":\"ann\""));
}

TEST_F(WorkflowServiceTest, HidesInstancesFromOtherOwners) {
  WorkflowService service = Service({Built(Report())});
  const WorkflowView view = Must(service.Start(ann_, {.workflow = "report", .input = Value("x")}));
  const Error missing = Refused(service.Look(ann_, InstanceId("wf_none")));
  for (const auto& error :
       {Refused(service.Look(bob_, view.instance)),
        Refused(service.Resume(bob_, {.instance = view.instance})),
        Refused(service.Resume(bob_, {.instance = view.instance,
                                      .from = view.checkpoint,
                                      .answers = {{view.requests[0].id, Value(true)}}})),
        Refused(service.Resume(ann_, {.instance = view.instance, .from = CheckpointId("cp-9")}))}) {
    EXPECT_EQ(error.code(), missing.code());
    EXPECT_EQ(error.message(), missing.message());
  }
  EXPECT_EQ(loop_.Await(service.Checkpoints(bob_, view.instance)).error().message(),
            missing.message());
  // An instance of the same name is another one.
  const WorkflowView own = Must(
      service.Start(bob_, {.workflow = "report", .input = Value("b"), .instance = view.instance}));
  EXPECT_EQ(own.requests[0].message, Value("b"));
  EXPECT_EQ(Must(service.Look(ann_, view.instance)).requests[0].message, Value("x"));
}

TEST_F(WorkflowServiceTest, RefusesAnswersThatDoNotFit) {
  WorkflowService service = Service({Built(Report())});
  const WorkflowView view = Must(service.Start(ann_, {.workflow = "report", .input = Value("x")}));
  const auto answer = [&](RequestId id, Value value) {
    return service.Resume(ann_, {.instance = view.instance, .answers = {{id, std::move(value)}}});
  };
  EXPECT_EQ(Refused(answer(RequestId("req_x"), Value(true))).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Refused(answer(view.requests[0].id, Value("yes"))).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Must(service.Resume(ann_, {.instance = view.instance})).status,
            InstanceStatus::kWaiting)
      << "Resuming without an answer changes nothing.";
  EXPECT_EQ(Must(answer(view.requests[0].id, Value(true))).status, InstanceStatus::kCompleted);
  EXPECT_EQ(Refused(answer(view.requests[0].id, Value(true))).code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(audit_.events, SizeIs(1));
}

TEST_F(WorkflowServiceTest, DoesEachEffectOnceWhereverTheStoreFails) {
  const auto report = Built(Report());
  for (int appends = 0; appends < 20; ++appends) {
    checkpoints_ = FakeCheckpoints();
    steps_ = FakeSteps();
    WorkflowService service = Service({report});
    const InstanceId id("wf_x");
    const auto go = [&]() -> Result<WorkflowView> {
      auto view = loop_.Await(service.Look(ann_, id));
      if (!view) {
        view = loop_.Await(
            service.Start(ann_, {.workflow = "report", .input = Value("Q3"), .instance = id}));
      } else {
        view = loop_.Await(service.Resume(ann_, {.instance = id}));
      }
      if (!view || view->status != InstanceStatus::kWaiting) return view;
      return loop_.Await(
          service.Resume(ann_, {.instance = id, .answers = {{view->requests[0].id, Value(true)}}}));
    };
    checkpoints_.FailAfter(appends);
    const bool failed = !go();
    checkpoints_.FailAfter(-1);
    const auto view = go();
    ASSERT_TRUE(view) << view.error().message();
    EXPECT_EQ(view->status, InstanceStatus::kCompleted) << appends;
    EXPECT_EQ(view->outputs.size(), 1u);
    EXPECT_EQ(steps_.effects(), (std::map<std::string, int>{{"draft", 1}, {"send", 1}})) << appends;
    if (!failed) return;  // There were enough of them.
  }
  FAIL() << "The instance writes too many checkpoints.";
}

TEST_F(WorkflowServiceTest, TellsAStepThatItMayHaveBegunBefore) {
  WorkflowService service = Service({Built(Report())});
  checkpoints_.FailAfter(2);  // The first superstep has begun, and its end is not stored.
  const InstanceId id("wf_x");
  EXPECT_EQ(
      Refused(service.Start(ann_, {.workflow = "report", .input = Value("x"), .instance = id}))
          .code(),
      ErrorCode::kUnavailable);
  EXPECT_EQ(steps_.calls().back().begun_before, std::nullopt);
  checkpoints_.FailAfter(-1);
  const SystemTime begun = clock_.Now();
  clock_.Advance(std::chrono::hours(5));
  Must(service.Resume(ann_, {.instance = id}));
  EXPECT_EQ(steps_.calls().back().begun_before, begun);
}

TEST_F(WorkflowServiceTest, LetsOneOfTwoProcessesWriteTheNextCheckpoint) {
  const auto report = Built(Report());
  WorkflowService one = Service({report});
  WorkflowService two = Service({report});
  const WorkflowView start = Must(one.Start(ann_, {.workflow = "report", .input = Value("x")}));
  // Both have read the head before either writes: the first step lets the other one in.
  std::optional<Result<WorkflowView>> second;
  steps_.On("send", [&](const StepCall& call) -> asio::awaitable<Result<StepResult>> {
    if (!second) {
      second.emplace(Error(ErrorCode::kInternal, ""));
      second = co_await two.Resume(ann_, {.instance = start.instance});
    }
    co_return StepDone{.output = call.message};
  });
  const auto first = loop_.Await(one.Resume(
      ann_, {.instance = start.instance, .answers = {{start.requests[0].id, Value(true)}}}));
  ASSERT_TRUE(second && *second) << second->error().message();
  EXPECT_EQ((*second)->status, InstanceStatus::kCompleted);
  EXPECT_EQ(first.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Must(one.Look(ann_, start.instance)).outputs.size(), 1u);

  const auto late = loop_.Await(one.Resume(
      ann_, {.instance = start.instance, .answers = {{start.requests[0].id, Value(false)}}}));
  EXPECT_EQ(late.error().code(), ErrorCode::kInvalidArgument) << "It has been answered.";
}

TEST_F(WorkflowServiceTest, GoesBackToAnOlderCheckpointAndTakesAnotherWay) {
  WorkflowService service = Service({Built(Report())});
  WorkflowView view = Must(service.Start(ann_, {.workflow = "report", .input = Value("x")}));
  const CheckpointId asked = view.checkpoint;
  const RequestId request = view.requests[0].id;
  view =
      Must(service.Resume(ann_, {.instance = view.instance, .answers = {{request, Value(true)}}}));
  EXPECT_EQ(view.status, InstanceStatus::kCompleted);
  // The same way finds what was done.
  view = Must(service.Resume(
      ann_, {.instance = view.instance, .from = asked, .answers = {{request, Value(true)}}}));
  EXPECT_EQ(view.status, InstanceStatus::kCompleted);
  EXPECT_EQ(steps_.effects().at("send"), 1);
  // Another answer leads elsewhere.
  view = Must(service.Resume(
      ann_, {.instance = view.instance, .from = asked, .answers = {{request, Value(false)}}}));
  EXPECT_EQ(view.status, InstanceStatus::kWaiting);
  EXPECT_EQ(steps_.effects().at("draft"), 2);
  EXPECT_EQ(view.requests[0].message, Value(false));
}

TEST_F(WorkflowServiceTest, RefusesToGoOnWithAnotherGraph) {
  const WorkflowView view =
      Must(Service({Built(Report())}).Start(ann_, {.workflow = "report", .input = Value("x")}));
  WorkflowService changed = Service({Built(Report().Limit({.supersteps = 7}))});
  EXPECT_THAT(Refused(changed.Resume(ann_, {.instance = view.instance})).message(),
              HasSubstr("has changed since"));
  WorkflowService none = Service({});
  EXPECT_EQ(Refused(none.Resume(ann_, {.instance = view.instance})).code(),
            ErrorCode::kFailedPrecondition);
}

TEST_F(WorkflowServiceTest, WaitsForApprovalsOfAStepAndAsksForItAgain) {
  const auto workflow = Built(WorkflowBuilder("w")
                                  .AddCode("a", Code())
                                  .AddCode("b", Code())
                                  .AddCode("c", Code())
                                  .AddEdge("a", "b")
                                  .AddEdge("a", "c")
                                  .Start("a"));
  WorkflowService service = Service({workflow});
  bool approved = false;
  steps_.OnSimply("b", [&](const StepCall& call) -> StepResult {
    if (approved) return StepDone{.output = Value("done")};
    return StepWaits{
        .approvals = {
            {.id = ApprovalId("apr_1"), .run = RunId("run_1"), .executor = call.executor.id}}};
  });
  WorkflowView view = Must(service.Start(ann_, {.workflow = "w", .input = Value("x")}));
  EXPECT_EQ(view.status, InstanceStatus::kWaiting);
  ASSERT_THAT(view.approvals, SizeIs(1));
  EXPECT_EQ(view.approvals[0].id, ApprovalId("apr_1"));
  EXPECT_EQ(Must(service.Look(ann_, view.instance)).approvals.size(), 1u);
  approved = true;
  view = Must(service.Resume(ann_, {.instance = view.instance}));
  EXPECT_EQ(view.status, InstanceStatus::kCompleted);
  EXPECT_EQ(view.outputs.size(), 2u);
  EXPECT_EQ(steps_.effects().at("c"), 1);
  EXPECT_THAT(view.approvals, SizeIs(0));
}

TEST_F(WorkflowServiceTest, EndsWithTheReasonOfAFailedStep) {
  WorkflowService service = Service({Built(Report())});
  steps_.OnSimply("draft", [](const StepCall&) -> StepResult {
    return StepFailed{.fault = WorkflowFault::kUncertain, .error = "who knows"};
  });
  const WorkflowView view = Must(service.Start(ann_, {.workflow = "report", .input = Value("x")}));
  EXPECT_EQ(view.status, InstanceStatus::kFailed);
  EXPECT_EQ(view.fault, WorkflowFault::kUncertain);
  EXPECT_EQ(view.error, "step \"draft\": who knows");
  EXPECT_EQ(Must(service.Resume(ann_, {.instance = view.instance})).status,
            InstanceStatus::kFailed);
}

TEST_F(WorkflowServiceTest, RunsStepsSideBySideUpToTheLimit) {
  WorkflowBuilder builder("w");
  builder.AddCode("a", Code()).Start("a").Limit({.steps_at_once = 3});
  int at_once = 0;
  int most = 0;
  for (int i = 0; i < 7; ++i) {
    const std::string id = "b" + std::to_string(i);
    builder.AddCode(id, Code()).AddEdge("a", id);
    steps_.On(id, [&](const StepCall&) -> asio::awaitable<Result<StepResult>> {
      most = std::max(most, ++at_once);
      asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
      --at_once;
      co_return StepDone{.output = Value("x")};
    });
  }
  WorkflowService service = Service({Built(builder)});
  EXPECT_EQ(Must(service.Start(ann_, {.workflow = "w", .input = Value("x")})).outputs.size(), 7u);
  EXPECT_EQ(most, 3);
}

TEST_F(WorkflowServiceTest, BindsACallerOfItsOwnToEachSuperstep) {
  WorkflowService service = Service({Built(Report())});
  auto slack = std::make_shared<CallerContext>(host_);
  slack->Bind({.values = {{CallerVariable::kPlatform, "slack"}, {CallerVariable::kChatId, "7"}}});
  const WorkflowView view =
      Must(service.Start(ann_, {.workflow = "report", .input = Value("x"), .caller = slack}));
  auto rest = std::make_shared<CallerContext>(host_);
  rest->Bind({.values = {{CallerVariable::kPlatform, "rest"}}});
  Must(service.Resume(ann_, {.instance = view.instance,
                             .answers = {{view.requests[0].id, Value(true)}},
                             .caller = rest}));
  ASSERT_THAT(steps_.calls(), SizeIs(2));
  const CallerContext& first = *steps_.calls()[0].caller;
  const CallerContext& second = *steps_.calls()[1].caller;
  EXPECT_EQ(first.Get(CallerVariable::kPlatform), "slack");
  EXPECT_EQ(first.Get(CallerVariable::kChatId), "7");
  EXPECT_EQ(second.Get(CallerVariable::kPlatform), "rest");
  EXPECT_EQ(second.Get(CallerVariable::kChatId), "");
  EXPECT_EQ(second.Get(CallerVariable::kId), view.instance.str());
}

TEST_F(WorkflowServiceTest, RunsAWorkflowInsideAnotherOneAndPassesItsRequestsOn) {
  const auto report = Built(Report());
  const auto outer = Built(WorkflowBuilder("outer")
                               .AddWorkflow("inner", {.workflow = report})
                               .AddCode("after", Code())
                               .AddEdge("inner", "after")
                               .Start("inner"));
  WorkflowService service = Service({outer});
  WorkflowView view = Must(service.Start(ann_, {.workflow = "outer", .input = Value("x")}));
  EXPECT_EQ(view.status, InstanceStatus::kWaiting);
  ASSERT_THAT(view.requests, SizeIs(1));
  EXPECT_EQ(Refused(service.Resume(ann_, {.instance = view.instance,
                                          .answers = {{view.requests[0].id, Value("no")}}}))
                .code(),
            ErrorCode::kInvalidArgument);
  view = Must(service.Resume(
      ann_, {.instance = view.instance, .answers = {{view.requests[0].id, Value(true)}}}));
  EXPECT_EQ(view.status, InstanceStatus::kCompleted);
  EXPECT_EQ(view.outputs[0].value, Value(true));
  EXPECT_EQ(steps_.effects(),
            (std::map<std::string, int>{{"draft", 1}, {"send", 1}, {"after", 1}}));
}

TEST_F(WorkflowServiceTest, BoundsTheState) {
  WorkflowService service = Service({Built(Report().Limit({.state_bytes = 4000}))});
  steps_.OnSimply("draft", [](const StepCall&) -> StepResult {
    return StepDone{.output = Value(std::string(5000, 'x'))};
  });
  const WorkflowView view = Must(service.Start(ann_, {.workflow = "report", .input = Value("x")}));
  EXPECT_EQ(view.fault, WorkflowFault::kLimit);
  EXPECT_THAT(view.error, HasSubstr("limits.state_bytes"));
}

TEST_F(WorkflowServiceTest, TellsWhatHappens) {
  WorkflowService service = Service({Built(Report())});
  std::vector<std::string> told;
  const auto on_event = [&](const WorkflowEvent& event) {
    if (const auto* began = std::get_if<SuperstepBegan>(&event)) {
      told.push_back("began " + std::to_string(began->superstep));
    } else if (const auto* ended = std::get_if<SuperstepEnded>(&event)) {
      told.push_back("ended " + std::to_string(ended->superstep));
    } else {
      told.push_back("output");
    }
  };
  const WorkflowView view =
      Must(service.Start(ann_, {.workflow = "report", .input = Value("x"), .on_event = on_event}));
  Must(service.Resume(ann_, {.instance = view.instance,
                             .answers = {{view.requests[0].id, Value(true)}},
                             .on_event = on_event}));
  EXPECT_THAT(told, ElementsAre("began 1", "ended 1", "began 2", "ended 2", "began 3", "output",
                                "ended 3"));
}

TEST_F(WorkflowServiceTest, RefusesUnknownWorkflowsAndInputOfTheWrongType) {
  WorkflowService service = Service(
      {Built(WorkflowBuilder("w").AddCode("a", Code(), {.input = Type("integer")}).Start("a"))});
  EXPECT_EQ(Refused(service.Start(ann_, {.workflow = "v"})).code(), ErrorCode::kNotFound);
  EXPECT_EQ(Refused(service.Start(ann_, {.workflow = "w", .input = Value("x")})).code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(WorkflowServiceTest, KeepsABoundedNumberOfCheckpoints) {
  const auto workflow =
      Built(WorkflowBuilder("w").AddCode("a", Code()).AddEdge("a", "a", {.limit = 30}).Start("a"));
  WorkflowService service({.checkpoints = checkpoints_,
                           .steps = steps_,
                           .workflows = {workflow},
                           .keep_checkpoints = 10});
  const WorkflowView view = Must(service.Start(ann_, {.workflow = "w", .input = Value("x")}));
  EXPECT_LT(loop_.Await(service.Checkpoints(ann_, view.instance))->size(), 26u);
}

}  // namespace
}  // namespace caisson
