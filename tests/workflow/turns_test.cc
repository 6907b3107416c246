// Workflows behind the interface of agents: questions, approvals, owners, and repeated requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/sealed_checkpoints.h"
#include "tests/durable/replica.h"
#include "wire/json.h"
#include "workflow/builder.h"
#include "workflow/combined_turns.h"
#include "workflow/run_steps.h"
#include "workflow/workflow_turns.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TurnItem Says(std::string text) {
  return {.id = "msg_x",
          .content = model::MessageItem{.role = model::Role::kUser,
                                        .parts = {model::TextPart{.text = std::move(text)}}}};
}
TurnItem Answers(std::string call_id, std::string text) {
  return {.id = "fco_x",
          .content = ClientResult{.call_id = std::move(call_id),
                                  .parts = {model::TextPart{.text = std::move(text)}}}};
}
TurnItem Decides(ApprovalId approval, bool approve) {
  return {.id = "mcpa_x",
          .content = ApprovalAnswer{.approval = std::move(approval), .approve = approve}};
}
template <typename T>
std::vector<T> All(const TurnView& turn) {
  std::vector<T> found;
  for (const TurnItem& item : turn.output) {
    if (const auto* content = std::get_if<T>(&item.content)) found.push_back(*content);
  }
  return found;
}
std::string TextOf(const TurnView& turn) {
  std::string text;
  for (const auto& message : All<model::MessageItem>(turn)) {
    text += std::get<model::TextPart>(message.parts.at(0)).text;
  }
  return text;
}
FakeScript Returns(Value value) {
  FakeScript script = Script({});
  script.outcome.result = std::move(value);
  return script;
}

// ask (a person: an integer) -> send (a tool that needs an approval).
std::shared_ptr<const Workflow> Report() {
  return *WorkflowBuilder("report")
              .AddCode("draft", {.code = "'a draft'"})
              .AddRequest("ask", {.prompt = "How many?"},
                          {.output = *MessageType::FromSchema(Value("integer"))})
              .AddCode("send", {.code = "send()"})
              .AddEdge("draft", "ask")
              .AddEdge("ask", "send")
              .Start("draft")
              .Build();
}

class WorkflowTurnsTest : public DurableRunsTest {
 protected:
  Result<TurnView> Try(TurnSpec spec, IsolationKey owner) {
    numbers_.clear();
    return loop_.Await(
        turns_.Start(std::move(owner), std::move(spec),
                     [this](const TurnEvent& event) { numbers_.push_back(event.number); }));
  }
  TurnView Start(TurnSpec spec) {
    auto turn = Try(std::move(spec), ann_);
    EXPECT_TRUE(turn) << turn.error().message();
    return turn ? *turn : TurnView{.id = ResponseId("")};
  }
  TurnView Asked() {
    here_->engine().Push(Returns(Value("a draft")));
    return Start({.agent = "report", .input = {Says("Q3")}});
  }
  Error Refused(TurnSpec spec) {
    auto turn = Try(std::move(spec), ann_);
    EXPECT_FALSE(turn);
    return turn ? Error(ErrorCode::kInternal, "") : turn.error();
  }
  TurnSpec After(const TurnView& turn, std::vector<TurnItem> input) {
    return {
        .agent = "report", .input = std::move(input), .previous = turn.id, .answered_by = "ann"};
  }

  SealedCheckpoints checkpoints_{store_->checkpoints(), keys_};
  RunSteps steps_{{.runs = here_->runs(), .clock = &clock_}};
  WorkflowService service_{{.checkpoints = checkpoints_,
                            .steps = steps_,
                            .workflows = {Report()},
                            .audit = &store_->audit(),
                            .clock = &clock_}};
  WorkflowTurns turns_{{.workflows = service_,
                        .runs = here_->runs(),
                        .responses = store_->responses(),
                        .clock = &clock_}};
  std::vector<std::uint64_t> numbers_;
};

TEST_F(WorkflowTurnsTest, AsksAPersonAndThenForAnApproval) {
  TurnView turn = Asked();
  EXPECT_EQ(turn.state, TurnState::kWaiting);
  for (std::size_t i = 0; i < numbers_.size(); ++i) EXPECT_EQ(numbers_[i], i);
  const auto questions = All<ClientCall>(turn);
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0].tool, kRequestInfo);
  EXPECT_THAT(questions[0].arguments,
              HasSubstr("\"prompt\":\"How many?\",\"message\":\"a draft\""));

  here_->engine().Push(Script({FakeCall{.tool = "send"}}));
  turn = Start(After(turn, {Answers(questions[0].call_id, "7")}));
  EXPECT_EQ(turn.state, TurnState::kWaiting);
  const auto asked = All<ApprovalRequest>(turn);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].tool, "send");
  EXPECT_THAT(effects_, IsEmpty());

  turn = Start(After(turn, {Decides(asked[0].approval, true)}));
  EXPECT_EQ(turn.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
  EXPECT_EQ(TextOf(turn), "null");
  EXPECT_EQ(loop_.Await(turns_.Find(ann_, turn.id))->state, TurnState::kCompleted);
}

TEST_F(WorkflowTurnsTest, TakesADenialAndADecisionOfAnotherDoor) {
  TurnView turn = Asked();
  here_->engine().Push(Script({FakeCall{.tool = "send"}}));
  turn = Start(After(turn, {Answers(All<ClientCall>(turn)[0].call_id, "7")}));
  const ApprovalId approval = All<ApprovalRequest>(turn).at(0).approval;
  ASSERT_TRUE(Decide(*here_, approval.str(), ApprovalState::kDenied));
  EXPECT_EQ(Refused(After(turn, {Decides(approval, true)})).code(), ErrorCode::kFailedPrecondition)
      << "It was decided differently.";
  turn = Start(After(turn, {Decides(approval, false)}));
  EXPECT_EQ(turn.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(WorkflowTurnsTest, TextNeverAnswersAQuestion) {
  const TurnView turn = Asked();
  EXPECT_EQ(Refused(After(turn, {Says("7")})).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Refused(After(turn, {})).code(), ErrorCode::kInvalidArgument);
  const std::string call = All<ClientCall>(turn)[0].call_id;
  EXPECT_EQ(Refused(After(turn, {Answers(call, "7"), Says("{\"x\": 1}")})).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(loop_.Await(service_.Look(ann_, InstanceId("wf_" + turn.id.str())))->requests.size(),
            1u);
}

TEST_F(WorkflowTurnsTest, RefusesAnswersOfTheWrongTypeAndToOtherQuestions) {
  const TurnView turn = Asked();
  const std::string call = All<ClientCall>(turn)[0].call_id;
  for (const char* text : {"seven", "7.5", "true", "\"7\"", "", "[7]"}) {
    EXPECT_THAT(Refused(After(turn, {Answers(call, text)})).message(), HasSubstr("of type integer"))
        << text;
  }
  const Error unknown = Refused(After(turn, {Answers("req_x", "7")}));
  EXPECT_EQ(Refused(After(turn, {Decides(ApprovalId("apr_x"), true)})).message(),
            unknown.message());
  here_->engine().Push(Returns(Value("sent")));
  EXPECT_EQ(TextOf(Start(After(turn, {Answers(call, "7")}))), "sent");
}

TEST_F(WorkflowTurnsTest, AnswersOnceHoweverOftenItIsAsked) {
  const TurnView turn = Asked();
  const std::string call = All<ClientCall>(turn)[0].call_id;
  here_->engine().Push(Returns(Value("sent")));
  const TurnView end = Start(After(turn, {Answers(call, "7")}));
  EXPECT_EQ(end.state, TurnState::kCompleted);
  const Error again = Refused(After(turn, {Answers(call, "7")}));
  EXPECT_EQ(again.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(again.message(), Refused(After(turn, {Answers("req_x", "7")})).message());
  // The next message begins another instance.
  here_->engine().Push(Returns(Value("b")));
  const TurnView next = Start(After(end, {Says("Q4")}));
  EXPECT_EQ(next.state, TurnState::kWaiting);
  EXPECT_NE(All<ClientCall>(next)[0].call_id, call);
}

TEST_F(WorkflowTurnsTest, HidesTurnsFromOtherOwners) {
  const TurnView turn = Asked();
  const auto answer = After(turn, {Answers(All<ClientCall>(turn)[0].call_id, "7")});
  TurnSpec missing = answer;
  missing.previous = ResponseId("resp_none");
  const Error foreign = Try(answer, bob_).error();
  EXPECT_EQ(foreign.code(), ErrorCode::kNotFound);
  EXPECT_EQ(foreign.message(), Try(missing, bob_).error().message());
  EXPECT_EQ(loop_.Await(turns_.Find(bob_, turn.id)).error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(loop_.Await(turns_.Remove(bob_, turn.id)));
  EXPECT_TRUE(loop_.Await(turns_.Find(ann_, turn.id)));
}

TEST_F(WorkflowTurnsTest, UsesAnIdOnceAndRefusesWhatWorkflowsDoNotHave) {
  here_->engine().Push(Returns(Value("a draft")));
  const TurnSpec spec{.agent = "report", .id = ResponseId("resp_1"), .input = {Says("x")}};
  EXPECT_EQ(Start(spec).id, ResponseId("resp_1"));
  EXPECT_EQ(Refused(spec).code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Refused({.agent = "other", .input = {Says("x")}}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(Refused({.agent = "report"}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Refused({.agent = "report", .input = {Answers("req_x", "1")}}).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(Refused({.agent = "report", .style = TurnSpec::Style::kBackground}).code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(WorkflowTurnsTest, ATurnThatIsNotStoredCannotWait) {
  here_->engine().Push(Returns(Value("a draft")));
  const TurnView turn =
      Start({.agent = "report", .input = {Says("x")}, .keep = TurnSpec::Keep::kNo});
  EXPECT_EQ(turn.state, TurnState::kFailed);
  EXPECT_THAT(turn.error, HasSubstr("not stored"));
  EXPECT_FALSE(loop_.Await(turns_.Find(ann_, turn.id)));
}

TEST_F(WorkflowTurnsTest, OneServiceReachesEachWorkflowByItsName) {
  WorkflowService other(
      {.checkpoints = checkpoints_,
       .steps = steps_,
       .workflows = {*WorkflowBuilder("echo").AddCode("a", {.code = "1"}).Start("a").Build()},
       .clock = &clock_});
  // Both keep their turns in one store, so the second finds the turns of the first as well.
  WorkflowTurns others({.workflows = other,
                        .runs = here_->runs(),
                        .responses = store_->responses(),
                        .clock = &clock_});
  CombinedTurns all({&others, &turns_});
  EXPECT_EQ(all.Agents().size(), 2u);
  here_->engine().Push(Returns(Value("echoed")));
  const auto turn = loop_.Await(all.Start(ann_, {.agent = "echo", .input = {Says("x")}}, {}));
  ASSERT_TRUE(turn) << turn.error().message();
  EXPECT_EQ(TextOf(*turn), "echoed");
  EXPECT_TRUE(loop_.Await(all.Find(ann_, turn->id)));
  EXPECT_FALSE(loop_.Await(all.Find(bob_, turn->id)));
  EXPECT_EQ(
      loop_.Await(all.Start(ann_, {.agent = "none", .input = {Says("x")}}, {})).error().code(),
      ErrorCode::kNotFound);
  EXPECT_TRUE(loop_.Await(all.Remove(ann_, turn->id)));
  EXPECT_FALSE(loop_.Await(all.Find(ann_, turn->id)));
}

}  // namespace
}  // namespace caisson
