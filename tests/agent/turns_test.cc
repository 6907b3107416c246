// Turns over an engine of scripts: what a turn does, what its history is, and how it ends.
#include <gmock/gmock.h>

#include "agent/stored_conversations.h"
#include "tests/agent/turns_fixture.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const char* const kCode = R"json({"code": "print(1)"})json";

TEST_F(TurnsTest, ATextEndsTheTurn) {
  model_->Push(TextOf("Good morning."));
  const TurnView view = Ask("coder");
  EXPECT_EQ(view.state, TurnState::kCompleted);
  EXPECT_EQ(TextIn(view), "Good morning.");
  EXPECT_EQ(view.usage.output, 5u);
  EXPECT_EQ(view.model, "scripted");
  const auto stored = loop_.Await(here_->turns().Find(ann_, view.id));
  ASSERT_TRUE(stored);
  EXPECT_EQ(TextIn(*stored), "Good morning.");
  EXPECT_EQ(stored->state, TurnState::kCompleted);
  EXPECT_THAT(stored->input, SizeIs(1));
}

TEST_F(TurnsTest, TheEventsTellTheItemsInOrder) {
  model_->Push(CallOf("execute_code", kCode));
  Script({FakeOutput{.text = "1\n"}});
  model_->Push(TextOf("One."));
  const TurnView view = Ask("coder");
  std::string told;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    EXPECT_EQ(events_[i].number, i);
    static constexpr const char* kNames[] = {"began", "added", "delta", "done", "ended"};
    told += std::string(kNames[events_[i].event.index()]) + " ";
  }
  // The code, its output, then two pieces of text.
  EXPECT_EQ(told, "began added delta delta done added delta delta done ended ");
  EXPECT_THAT(view.output, SizeIs(2));
}

TEST_F(TurnsTest, CodeRunsAndTheModelReadsItsOutput) {
  model_->Push(CallOf("execute_code", kCode, "c1"));
  Script({FakeOutput{.text = "1\n"}, FakeCall{.tool = "read"}}, Value(std::int64_t{7}));
  model_->Push(TextOf("Seven."));
  const TurnView view = Ask("coder");
  EXPECT_EQ(view.state, TurnState::kCompleted);
  const auto code = All<CodeCall>(view.output);
  ASSERT_THAT(code, SizeIs(1));
  EXPECT_EQ(code[0].progress, CallProgress::kCompleted);
  EXPECT_EQ(code[0].code, "print(1)");
  EXPECT_EQ(code[0].logs, "1\n7");
  EXPECT_FALSE(code[0].run.str().empty());
  EXPECT_EQ(here_->engine().requests().at(0).second.code, "print(1)");
  EXPECT_EQ(Seen(),
            "user: hello\ncall c1: execute_code {\"code\":\"print(1)\"}\nresult c1: 1\n7\n");
  EXPECT_THAT(effects_, ElementsAre("read"));
  EXPECT_THAT(model_->requests().at(0).instructions, HasSubstr("Be brief."));
}

TEST_F(TurnsTest, ToolsAreCalledSideBySideAndResultsKeepTheirOrder) {
  model_->Push(CallsOf({{.call_id = "a", .name = "read", .arguments = R"({"to":"x"})"},
                        {.call_id = "b", .name = "read", .arguments = R"({"to":"y"})"}}));
  model_->Push(TextOf("Done."));
  const TurnView view = Ask("caller");
  EXPECT_EQ(view.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("read x", "read y"));
  EXPECT_EQ(Seen(),
            "user: hello\ncall a: read {\"to\":\"x\"}\ncall b: read {\"to\":\"y\"}\n"
            "result a: read done\nresult b: read done\n");
  EXPECT_THAT(here_->engine().requests(), IsEmpty());
}

TEST_F(TurnsTest, ArgumentsAreNeverCode) {
  model_->Push(CallOf("read", R"json({"to":"'); send('ann') #"})json"));
  const TurnView view = Ask("caller");
  EXPECT_EQ(view.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("read '); send('ann') #"));
}

TEST_F(TurnsTest, WrongCallsAreToldToTheModel) {
  model_->Push(CallsOf({{.call_id = "a", .name = "reed", .arguments = "{}"},
                        {.call_id = "b", .name = "read", .arguments = "{"},
                        {.call_id = "c", .name = "read", .arguments = R"({"to":5})"}}));
  const TurnView view = Ask("caller");
  EXPECT_EQ(view.state, TurnState::kCompleted);
  EXPECT_THAT(Seen(), HasSubstr("result a: The call was not made: there is no tool \"reed\""));
  EXPECT_THAT(Seen(), HasSubstr("result b: The call was not made: the arguments are not valid"));
  EXPECT_THAT(Seen(), HasSubstr("result c: "));
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(TurnsTest, HistoriesFollowThePreviousTurnAndBranch) {
  model_->Push(TextOf("one"));
  const TurnView first = Ask("coder", {}, {Said("1")});
  model_->Push(TextOf("two"));
  const TurnView second = Ask("coder", first.id, {Said("2")});
  model_->Push(TextOf("three"));
  Ask("coder", second.id, {Said("3")});
  EXPECT_EQ(Seen(), "user: 1\nassistant: one\nuser: 2\nassistant: two\nuser: 3\n");
  Ask("coder", first.id, {Said("other")});
  EXPECT_EQ(Seen(), "user: 1\nassistant: one\nuser: other\n");
}

TEST_F(TurnsTest, AForeignTurnIsLikeNone) {
  const TurnView view = Ask("coder");
  const auto start = [&](ResponseId previous) {
    return loop_.Await(here_->turns().Start(
        bob_, {.agent = "coder", .input = {Said("x")}, .previous = std::move(previous)}, {}));
  };
  const auto foreign = start(view.id);
  const auto unknown = start(ResponseId("resp_unknown"));
  EXPECT_EQ(foreign.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(foreign.error().message(), unknown.error().message());
  const auto found = loop_.Await(here_->turns().Find(bob_, view.id));
  const auto none = loop_.Await(here_->turns().Find(bob_, ResponseId("resp_unknown")));
  EXPECT_EQ(found.error().message(), none.error().message());
  EXPECT_FALSE(loop_.Await(here_->turns().Remove(bob_, view.id)));
  EXPECT_FALSE(loop_.Await(here_->turns().Cancel(bob_, view.id)));
  EXPECT_TRUE(loop_.Await(here_->turns().Remove(ann_, view.id)));
  EXPECT_FALSE(loop_.Await(here_->turns().Find(ann_, view.id)));
}

TEST_F(TurnsTest, ATurnThatIsNotKeptLeavesNothing) {
  model_->Push(CallOf("read", "{}"));
  const TurnView view =
      Start({.agent = "caller", .input = {Said("x")}, .keep = TurnSpec::Keep::kNo});
  EXPECT_EQ(view.state, TurnState::kCompleted);
  EXPECT_FALSE(loop_.Await(here_->turns().Find(ann_, view.id)));
  const auto runs = loop_.Await(here_->runs().List(ann_, std::nullopt, {}));
  EXPECT_THAT(runs->items, IsEmpty());
  // A gated call is denied, because nobody could answer.
  model_->Push(CallOf("send", "{}"));
  Start({.agent = "caller", .input = {Said("x")}, .keep = TurnSpec::Keep::kNo});
  EXPECT_THAT(effects_, ElementsAre("read"));
}

// ---- Approvals ----

TEST_F(TurnsTest, AGatedToolWaitsAndTheNextTurnTakesItsResult) {
  model_->Push(CallsOf({{.call_id = "a", .name = "send", .arguments = R"({"to":"ann"})"},
                        {.call_id = "b", .name = "read", .arguments = "{}"}}));
  const TurnView first = Ask("caller");
  EXPECT_EQ(first.state, TurnState::kWaiting);
  EXPECT_THAT(effects_, ElementsAre("read"));  // The other call was made.
  const auto requests = All<ApprovalRequest>(first.output);
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].tool, "send");
  EXPECT_EQ(requests[0].arguments, R"({"to":"ann"})");

  model_->Push(TextOf("Sent."));
  const TurnView second = Ask("caller", first.id, {Answered(requests[0].approval, true)});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("read", "send ann"));
  EXPECT_EQ(Seen(),
            "user: hello\ncall a: send {\"to\":\"ann\"}\ncall b: read {}\n"
            "result a: send done\nresult b: read done\n");
  const auto calls = All<HostToolCall>(second.output);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].approval, requests[0].approval);
  EXPECT_EQ(calls[0].output, "send done");

  // The call is not made again on a later turn.
  Ask("caller", second.id, {Said("thanks")});
  EXPECT_THAT(effects_, ElementsAre("read", "send ann"));
  EXPECT_THAT(Seen(), HasSubstr("result a: send done\n"));
}

TEST_F(TurnsTest, ACallInsideRunningCodeWaitsAndTheCodeGoesOn) {
  model_->Push(CallOf("execute_code", kCode, "c"));
  Script({FakeOutput{.text = "before "}, FakeCall{.tool = "send"}, FakeOutput{.text = "after"}});
  const TurnView first = Ask("coder");
  EXPECT_EQ(first.state, TurnState::kWaiting);
  EXPECT_EQ(All<CodeCall>(first.output).at(0).progress, CallProgress::kWaiting);
  const auto requests = All<ApprovalRequest>(first.output);
  ASSERT_THAT(requests, SizeIs(1));
  model_->Push(TextOf("Sent."));
  const TurnView second = Ask("coder", first.id, {Answered(requests[0].approval, true)});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_EQ(All<CodeCall>(second.output).at(0).logs, "before after");
  EXPECT_THAT(effects_, ElementsAre("send"));
  EXPECT_EQ(here_->engine().requests().size(), 1u);  // Nothing was executed again.
}

TEST_F(TurnsTest, ADenialIsToldToTheModel) {
  model_->Push(CallOf("send", "{}", "a"));
  const TurnView first = Ask("caller");
  const auto request = All<ApprovalRequest>(first.output).at(0);
  const TurnView second = Ask("caller", first.id, {Answered(request.approval, false)});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, IsEmpty());
  EXPECT_THAT(Seen(), HasSubstr("result a: ApprovalDenied"));
}

TEST_F(TurnsTest, ChangedArgumentsAreExecutedAndToldToTheModel) {
  model_->Push(CallOf("send", R"({"to":"ann"})", "a"));
  const TurnView first = Ask("caller");
  const auto request = All<ApprovalRequest>(first.output).at(0);
  const auto answer = [&](Dict changes) {
    return TurnItem{
        .id = "",
        .content = ApprovalAnswer{
            .approval = request.approval, .approve = true, .changes = std::move(changes)}};
  };
  const auto refused = TryStart({.agent = "caller",
                                 .input = {answer(Dict{{{"to", std::int64_t{5}}}})},
                                 .previous = first.id});
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  const TurnView second = Ask("caller", first.id, {answer(Dict{{{"to", "bob"}}})});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send bob"));
  EXPECT_THAT(Seen(), HasSubstr("changed its arguments to {\"to\":\"bob\"}\nsend done"));
}

TEST_F(TurnsTest, SeveralApprovalsCanBeAnsweredOneAfterTheOther) {
  model_->Push(CallsOf({{.call_id = "a", .name = "send", .arguments = "{}"},
                        {.call_id = "b", .name = "post", .arguments = "{}"}}));
  const TurnView first = Ask("caller");
  const auto requests = All<ApprovalRequest>(first.output);
  ASSERT_THAT(requests, SizeIs(2));
  const TurnView second = Ask("caller", first.id, {Answered(requests[0].approval, true)});
  EXPECT_EQ(second.state, TurnState::kWaiting);
  EXPECT_THAT(effects_, ElementsAre("send"));
  // The other one is asked again.
  ASSERT_THAT(All<ApprovalRequest>(second.output), SizeIs(1));
  EXPECT_EQ(All<ApprovalRequest>(second.output)[0].approval, requests[1].approval);
  EXPECT_THAT(model_->requests(), SizeIs(1));
  const TurnView third = Ask("caller", second.id, {Answered(requests[1].approval, true)});
  EXPECT_EQ(third.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send", "post"));
  EXPECT_THAT(Seen(), HasSubstr("result a: send done\nresult b: post done\n"));
}

TEST_F(TurnsTest, SeveralApprovalsCanBeAnsweredTogether) {
  model_->Push(CallsOf({{.call_id = "a", .name = "send", .arguments = "{}"},
                        {.call_id = "b", .name = "post", .arguments = "{}"}}));
  const TurnView first = Ask("caller");
  const auto requests = All<ApprovalRequest>(first.output);
  const TurnView second =
      Ask("caller", first.id,
          {Answered(requests[0].approval, true), Answered(requests[1].approval, false)});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
  EXPECT_THAT(Seen(), HasSubstr("result a: send done\nresult b: ApprovalDenied"));
}

TEST_F(TurnsTest, CodeThatAsksTwiceWaitsTwice) {
  model_->Push(CallOf("execute_code", kCode, "c"));
  Script({FakeCall{.tool = "send"}, FakeCall{.tool = "post"}});
  const TurnView first = Ask("coder");
  const TurnView second =
      Ask("coder", first.id, {Answered(All<ApprovalRequest>(first.output).at(0).approval, true)});
  EXPECT_EQ(second.state, TurnState::kWaiting);
  const auto requests = All<ApprovalRequest>(second.output);
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].tool, "post");
  const TurnView third = Ask("coder", second.id, {Answered(requests[0].approval, true)});
  EXPECT_EQ(third.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send", "post"));
}

TEST_F(TurnsTest, ADecisionAtAnotherDoorCounts) {
  model_->Push(CallOf("send", "{}", "a"));
  const TurnView first = Ask("caller");
  const auto request = All<ApprovalRequest>(first.output).at(0);
  ASSERT_TRUE(loop_.Await(here_->runs().Decide(
      ann_, request.approval, {.verdict = ApprovalState::kApproved, .by = "ann"})));
  const TurnView second = Ask("caller", first.id, {Said("and now?")});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(Seen(), HasSubstr("result a: send done\nuser: and now?\n"));
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(TurnsTest, AMessageWithoutAnAnswerLeavesTheApprovalOpen) {
  model_->Push(CallOf("send", "{}", "a"));
  const TurnView first = Ask("caller");
  const auto request = All<ApprovalRequest>(first.output).at(0);
  const TurnView second = Ask("caller", first.id, {Said("what do you wait for?")});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(Seen(), HasSubstr("result a: This call waits for a person's approval."));
  const TurnView third = Ask("caller", second.id, {Answered(request.approval, true)});
  EXPECT_EQ(third.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
  EXPECT_THAT(Seen(), HasSubstr("result a: send done\n"));
}

TEST_F(TurnsTest, AnotherReplicaTakesTheAnswer) {
  model_->Push(CallOf("send", "{}", "a"));
  const TurnView first = Ask("caller");
  const auto request = All<ApprovalRequest>(first.output).at(0);
  here_.reset();
  clock_.Advance(std::chrono::hours(48));
  here_ = Make();
  const TurnView second = Ask("caller", first.id, {Answered(request.approval, true)});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(TurnsTest, AnswersAreRefusedUnlessTheyFit) {
  model_->Push(CallOf("send", "{}", "a"));
  const TurnView first = Ask("caller");
  const auto approval = All<ApprovalRequest>(first.output).at(0).approval;
  const auto code = [&](Result<TurnView> view) { return view.error().code(); };
  const auto answer = [&](std::optional<ResponseId> previous, std::vector<TurnItem> input) {
    return TryStart(
        {.agent = "caller", .input = std::move(input), .previous = std::move(previous)});
  };
  EXPECT_EQ(code(answer(first.id, {Answered(ApprovalId("apr_unknown"), true)})),
            ErrorCode::kInvalidArgument);
  // Nobody else's, with the same words as for none.
  const auto foreign = loop_.Await(
      here_->turns().Start(bob_, {.agent = "caller", .input = {Answered(approval, true)}}, {}));
  EXPECT_EQ(foreign.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(foreign.error().message(), HasSubstr("no approval with the id"));
  // Not of another agent, and not of another history.
  EXPECT_EQ(code(TryStart({.agent = "coder", .input = {Answered(approval, true)}})),
            ErrorCode::kInvalidArgument);
  const TurnView other = Ask("caller");
  EXPECT_EQ(code(answer(other.id, {Answered(approval, true)})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(answer(first.id, {Answered(approval, true), Answered(approval, false)})),
            ErrorCode::kInvalidArgument);
  EXPECT_THAT(effects_, IsEmpty());

  const TurnView second = Ask("caller", first.id, {Answered(approval, true)});
  EXPECT_THAT(effects_, ElementsAre("send"));
  EXPECT_EQ(code(answer(second.id, {Answered(approval, true)})), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(code(answer(first.id, {Answered(approval, false)})), ErrorCode::kFailedPrecondition);
  // The same answer once more is a branch with the same result.
  EXPECT_EQ(Ask("caller", first.id, {Answered(approval, true)}).state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(TurnsTest, AnExpiredApprovalIsToldToTheModel) {
  model_->Push(CallOf("send", "{}", "a"));
  const TurnView first = Ask("caller");
  const auto approval = All<ApprovalRequest>(first.output).at(0).approval;
  clock_.Advance(std::chrono::hours(24 * 8));
  loop_.Await(here_->runs().TendOnce());
  const auto late =
      TryStart({.agent = "caller", .input = {Answered(approval, true)}, .previous = first.id});
  EXPECT_EQ(late.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(late.error().message(), HasSubstr("has expired"));
  Ask("caller", first.id, {Said("go on")});
  EXPECT_THAT(Seen(), HasSubstr("result a: ApprovalDenied"));
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(TurnsTest, AnApprovalThatAFailedRunUsedIsNotLost) {
  model_->Push(CallOf("execute_code", kCode, "c"));
  here_->engine().Push({.steps = {FakeCall{.tool = "send"}},
                        .outcome = {.status = RunStatus::kFailed,
                                    .reason = RunReason::kRaised,
                                    .error = RunError{.type = "ValueError", .message = "bad"}}});
  const TurnView first = Ask("coder");
  const auto approval = All<ApprovalRequest>(first.output).at(0).approval;
  const TurnView second = Ask("coder", first.id, {Answered(approval, true)});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
  EXPECT_TRUE(All<CodeCall>(second.output).at(0).is_error);
  EXPECT_THAT(Seen(), HasSubstr("result c: ValueError: bad"));
}

// ---- Histories that clients send ----

TEST_F(TurnsTest, AWholeHistoryIsAcceptedAndItsCallsAreNotMade) {
  std::vector<TurnItem> history = {
      Said("1"),
      {.id = "",
       .content = HostToolCall{.call_id = "x",
                               .tool = "send",
                               .arguments = "{}",
                               .run = RunId("run_x"),
                               .progress = CallProgress::kWaiting}},
      {.id = "",
       .content = CodeCall{.call_id = "y",
                           .code = "send()",
                           .run = RunId("run_y"),
                           .progress = CallProgress::kRunning}},
      {.id = "",
       .content =
           model::MessageItem{.role = model::Role::kAssistant, .parts = {model::TextPart{"one"}}}},
      Said("2")};
  const TurnView view = Ask("caller", {}, history);
  EXPECT_EQ(view.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, IsEmpty());
  EXPECT_THAT(Seen(), HasSubstr("assistant: one\nuser: 2\n"));
}

TEST_F(TurnsTest, AnAnswerInAHistoryThatTheClientSendsDecidesTheStoredCall) {
  model_->Push(CallOf("send", R"({"to":"ann"})", "a"));
  const TurnView first = Ask("caller");
  ApprovalRequest forged = All<ApprovalRequest>(first.output).at(0);
  forged.arguments = R"({"to":"mallory"})";
  const TurnView second =
      Ask("caller", {},
          {Said("hello"), {.id = "x", .content = forged}, Answered(forged.approval, true)});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send ann"));
  // In a later history the answer is past and does nothing.
  const TurnView third = Ask("caller", {},
                             {Said("hello"),
                              {.id = "x", .content = forged},
                              Answered(forged.approval, false),
                              {.id = "",
                               .content = model::MessageItem{.role = model::Role::kAssistant,
                                                             .parts = {model::TextPart{"sent"}}}},
                              Said("thanks")});
  EXPECT_EQ(third.state, TurnState::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send ann"));
}

TEST_F(TurnsTest, AToolOfTheClientEndsTheTurnUntilItsResultComes) {
  model_->Push(CallsOf({{.call_id = "k", .name = "weather", .arguments = R"({"city":"Rome"})"},
                        {.call_id = "r", .name = "read", .arguments = "{}"}}));
  const TurnView first =
      Start({.agent = "caller", .input = {Said("hello")}, .client_tools = {{.name = "weather"}}});
  EXPECT_EQ(first.state, TurnState::kWaiting);
  ASSERT_THAT(All<ClientCall>(first.output), SizeIs(1));
  EXPECT_THAT(effects_, ElementsAre("read"));
  const TurnView second = Ask(
      "caller", first.id,
      {{.id = "", .content = ClientResult{.call_id = "k", .parts = {model::TextPart{"sunny"}}}}});
  EXPECT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(Seen(), HasSubstr("result k: sunny\nresult r: read done\n"));
  EXPECT_EQ(TryStart({.agent = "caller", .client_tools = {{.name = "read"}}}).error().code(),
            ErrorCode::kInvalidArgument);
}

// ---- Ends ----

TEST_F(TurnsTest, EachLimitHasItsOwnEnding) {
  const auto ending = [&](TurnLimits limits, std::string tool, TurnSpec spec = {}) {
    limits_ = limits;
    here_ = Make();
    model_->AnswerWith([tool](const model::ModelRequest&) {
      return CallsOf({{.call_id = "a", .name = tool, .arguments = "{}"},
                      {.call_id = "b", .name = tool, .arguments = "{}"}});
    });
    spec.agent = "caller";
    spec.input = {Said("x")};
    const TurnView view = Start(std::move(spec));
    EXPECT_EQ(view.state, TurnState::kIncomplete);
    for (const auto& call : All<HostToolCall>(view.output)) {
      EXPECT_NE(call.progress, CallProgress::kRunning);
    }
    return view.ending;
  };
  EXPECT_EQ(ending({.iterations = 2}, "read"), TurnEnding::kIterations);
  EXPECT_THAT(effects_, SizeIs(4));
  EXPECT_EQ(ending({.consecutive_errors = 1}, "none"), TurnEnding::kErrors);
  effects_.clear();
  EXPECT_EQ(ending({.calls = 3}, "read"), TurnEnding::kCalls);
  EXPECT_THAT(effects_, SizeIs(3));
  EXPECT_EQ(ending({}, "read", {.agent = "", .max_calls = 1}), TurnEnding::kCalls);
  effects_.clear();
  EXPECT_EQ(ending({.tokens = 10}, "read"), TurnEnding::kTokens);
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(TurnsTest, ATurnEndsWhenItsTimeIsOver) {
  limits_ = {.wall = std::chrono::seconds(0)};
  here_ = Make();
  ScriptedReply slow = TextOf("never");
  slow.hold = std::make_shared<Wakeup>();
  model_->Push(slow);
  const TurnView view = Ask("coder");
  EXPECT_EQ(view.state, TurnState::kIncomplete);
  EXPECT_EQ(view.ending, TurnEnding::kWallTime);
  EXPECT_EQ(TextIn(view), "never");  // What had come is kept.
  EXPECT_TRUE(view.output.at(0).is_cut);
}

TEST_F(TurnsTest, AFailureOfTheModelKeepsWhatHappened) {
  model_->Push(CallOf("read", "{}", "a"));
  ScriptedReply broken = TextOf("I was about to");
  broken.error = Error(ErrorCode::kUnavailable, "the stream ended too early");
  model_->Push(broken);
  const TurnView view = Ask("caller");
  EXPECT_EQ(view.state, TurnState::kFailed);
  EXPECT_EQ(view.ending, TurnEnding::kModel);
  EXPECT_EQ(view.error, "the stream ended too early");
  EXPECT_THAT(All<HostToolCall>(view.output), SizeIs(1));
  Ask("caller", view.id, {Said("again")});
  EXPECT_EQ(Seen(),
            "user: hello\ncall a: read {}\nresult a: read done\nassistant: I was about to\n"
            "user: again\n");
}

TEST_F(TurnsTest, CancellingKeepsWhatHappenedAndEndsTheRuns) {
  ScriptedReply slow = TextOf("half");
  slow.hold = std::make_shared<Wakeup>();
  slow.on_streamed = [this] {
    const auto cancel = [this]() -> asio::awaitable<void> {
      const auto cancelled = co_await here_->turns().Cancel(ann_, ResponseId("resp_1"));
      EXPECT_EQ(cancelled->state, TurnState::kCancelled);
    };
    Spawn(loop_.context().get_executor(), cancel);
  };
  model_->Push(slow);
  const TurnView view = Start({.agent = "coder", .id = ResponseId("resp_1"), .input = {Said("x")}});
  EXPECT_EQ(view.state, TurnState::kCancelled);
  EXPECT_EQ(TextIn(view), "half");
  const auto stored = loop_.Await(here_->turns().Find(ann_, view.id));
  EXPECT_EQ(stored->state, TurnState::kCancelled);
  EXPECT_EQ(TryStart({.agent = "coder", .id = ResponseId("resp_1")}).error().code(),
            ErrorCode::kFailedPrecondition);
}

TEST_F(TurnsTest, AClientThatGoesAwayCancelsItsTurn) {
  model_->Push(CallOf("execute_code", kCode, "c"));
  Script({FakeSleep{.until = HostTime::max()}});
  std::optional<Result<TurnView>> view;
  const Stop stop(loop_.context().get_executor());
  Spawn(stop, [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    view = co_await here_->turns().Start(
        ann_, {.agent = "coder", .id = ResponseId("resp_1"), .input = {Said("x")}}, {});
  });
  loop_.Until([&] { return !here_->engine().requests().empty(); });
  loop_.Poll();
  stop.Request();
  loop_.Until([&] { return view.has_value(); });
  EXPECT_EQ((*view)->state, TurnState::kCancelled);
  const auto stored = loop_.Await(here_->turns().Find(ann_, ResponseId("resp_1")));
  ASSERT_THAT(All<CodeCall>(stored->output), SizeIs(1));
  EXPECT_EQ(All<CodeCall>(stored->output)[0].progress, CallProgress::kFailed);
}

// A coroutine of its own awaits the run. Its cancellation must not end the program.
TEST_F(TurnsTest, AClientThatGoesAwayWhileItsAnswerTakesEffectCancelsItsTurn) {
  model_->Push(CallOf("execute_code", kCode, "c"));
  Script({FakeCall{.tool = "send"}, FakeSleep{.until = HostTime::max()}});
  const TurnView first = Ask("coder");
  const auto requests = All<ApprovalRequest>(first.output);
  ASSERT_THAT(requests, SizeIs(1));
  std::optional<Result<TurnView>> view;
  const Stop stop(loop_.context().get_executor());
  Spawn(stop, [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    view = co_await here_->turns().Start(
        ann_,
        {.agent = "coder", .input = {Answered(requests[0].approval, true)}, .previous = first.id},
        {});
  });
  loop_.Until([&] { return !effects_.empty(); });
  loop_.Poll();
  stop.Request();
  loop_.Until([&] { return view.has_value(); });
  ASSERT_TRUE(*view);
  EXPECT_EQ((*view)->state, TurnState::kCancelled);
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(TurnsTest, OneTurnAtATimeInAConversation) {
  const ConversationId id("conv_1");
  ASSERT_TRUE(loop_.Await(
      store_->responses().CreateConversation(ann_, {.id = id, .created_at = clock_.Now()})));
  const auto spec = [&](std::string text) {
    return TurnSpec{.agent = "coder", .input = {Said(std::move(text))}, .conversation = id};
  };
  ScriptedReply slow = TextOf("one");
  slow.hold = std::make_shared<Wakeup>();
  slow.on_streamed = [&] {
    const auto second = [&]() -> asio::awaitable<void> {
      const auto refused = co_await here_->turns().Start(ann_, spec("2"), {});
      EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
      slow.hold->Wake();
    };
    Spawn(loop_.context().get_executor(), second);
  };
  model_->Push(slow);
  EXPECT_EQ(Start(spec("1")).state, TurnState::kCompleted);
  model_->Push(TextOf("three"));
  EXPECT_EQ(Start(spec("3")).state, TurnState::kCompleted);
  EXPECT_EQ(Seen(), "user: 1\nassistant: one\nuser: 3\n");
  EXPECT_EQ(loop_.Await(here_->turns().Start(bob_, spec("x"), {})).error().code(),
            ErrorCode::kNotFound);
}

TEST_F(TurnsTest, ConversationsOfClientsAndTurnsAreOneList) {
  StoredConversations conversations(*store_, &clock_);
  const ConversationId id("conv_1");
  const auto created =
      loop_.Await(conversations.Create(ann_, {.id = id, .door_data = "d"}, {Said("earlier")}));
  ASSERT_TRUE(created) << created.error().message();
  EXPECT_EQ(loop_.Await(conversations.Find(ann_, id))->door_data, "d");
  ScriptedReply slow = TextOf("answer");
  slow.hold = std::make_shared<Wakeup>();
  slow.on_streamed = [&] {
    const auto append = [&]() -> asio::awaitable<void> {
      const auto refused = co_await conversations.Append(ann_, id, {Said("meanwhile")});
      EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
      slow.hold->Wake();
    };
    Spawn(loop_.context().get_executor(), append);
  };
  model_->Push(slow);
  Start({.agent = "coder", .input = {Said("question")}, .conversation = id});
  ASSERT_TRUE(loop_.Await(conversations.Append(ann_, id, {Said("later")})));
  EXPECT_THAT(*loop_.Await(conversations.Items(ann_, id)), SizeIs(4));
  Start({.agent = "coder", .input = {Said("last")}, .conversation = id});
  EXPECT_EQ(Seen(), "user: earlier\nuser: question\nassistant: answer\nuser: later\nuser: last\n");
  const auto large =
      loop_.Await(conversations.Append(ann_, id, {Said(std::string(std::size_t{17} << 20, 'x'))}));
  EXPECT_EQ(large.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(loop_.Await(conversations.Items(bob_, id)).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(loop_.Await(conversations.Append(bob_, id, {})).error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(loop_.Await(conversations.Remove(ann_, id)));
  EXPECT_FALSE(loop_.Await(conversations.Find(ann_, id)));
}

TEST_F(TurnsTest, HistoriesAndTurnsAreBounded) {
  here_ = Make({.max_turns = 1, .history = {.turns = 2, .items = 5, .bytes = 1000}});
  const TurnView first = Ask("coder");
  const TurnView second = Ask("coder", first.id);
  const auto third =
      TryStart({.agent = "coder", .input = {Said("x"), Said("y")}, .previous = second.id});
  EXPECT_EQ(third.error().code(), ErrorCode::kResourceExhausted);
  const auto large = TryStart({.agent = "coder", .input = {Said(std::string(2000, 'x'))}});
  EXPECT_EQ(large.error().code(), ErrorCode::kResourceExhausted);
  ScriptedReply slow = TextOf("one");
  slow.hold = std::make_shared<Wakeup>();
  slow.on_streamed = [&] {
    const auto other = [&]() -> asio::awaitable<void> {
      const auto refused = co_await here_->turns().Start(ann_, {.agent = "coder"}, {});
      EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
      slow.hold->Wake();
    };
    Spawn(loop_.context().get_executor(), other);
  };
  model_->Push(slow);
  EXPECT_EQ(Ask("coder").state, TurnState::kCompleted);
}

TEST_F(TurnsTest, UnknownAgentsAreNotFound) {
  EXPECT_EQ(TryStart({.agent = "nobody"}).error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace caisson
