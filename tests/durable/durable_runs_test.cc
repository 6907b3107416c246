#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/journal/outcome_record.h"
#include "runs/journaled_runs.h"
#include "tests/durable/replica.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(DurableRunsTest, ARunWithoutGatedToolsRunsAsItAlwaysDid) {
  const auto plain = Setting({Counting("read", {})});
  RunView view = Start(Script({FakeOutput{.text = "hi"}, FakeCall{.tool = "read"}}),
                       {.code = "code", .setting = plain});
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.outcome.run_id, view.id.str());
  EXPECT_FALSE(here_->engine().requests().at(0).second.recording);
  loop_.Until(
      [&] { return !loop_.Await(store_->runs().Find(ann_, view.id)).has_value() == false; });
  EXPECT_EQ(Find(view.id).outcome.stdout_text, "hi");
  EXPECT_THAT(*loop_.Await(store_->runs().Calls(ann_, view.id)), IsEmpty());
}

TEST_F(DurableRunsTest, ARunStopsAtAGatedCallAndGoesOnWhenSomebodySaysYes) {
  std::string streamed;
  RunView view = Start(Script({FakeOutput{.text = "before "}, FakeCall{.tool = "send"},
                               FakeOutput{.text = "after"}}),
                       {.code = "code", .on_output = [&](OutputStream, std::string_view text) {
                          streamed.append(text);
                        }});
  EXPECT_EQ(view.state, RunState::kWaiting);
  EXPECT_EQ(view.outcome.status, RunStatus::kWaiting);
  EXPECT_EQ(view.outcome.stdout_text, "before ");
  ASSERT_EQ(view.outcome.approvals.size(), 1u);
  EXPECT_EQ(view.outcome.approvals[0].tool, "send");
  EXPECT_GT(view.saved_bytes, 0u);
  EXPECT_THAT(effects_, IsEmpty());
  EXPECT_TRUE(here_->engine().requests().at(0).second.recording);

  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.outcome.stdout_text, "before after");
  EXPECT_EQ(view.outcome.calls.at(0).outcome, "returned");
  EXPECT_THAT(effects_, ElementsAre("send"));
  EXPECT_EQ(streamed, "before ");  // The caller that started it has its answer.
  EXPECT_EQ(Find(view.id).outcome.stdout_text, "before after");
}

TEST_F(DurableRunsTest, ADenialIsToldToTheCodeAndNothingHappens) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id, ApprovalState::kDenied));
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.calls.at(0).outcome, "denied");
  EXPECT_TRUE(std::holds_alternative<ToolDenied>(here_->engine().answers().at(0).second));
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, ARunWhoseCallsTakeTooMuchOfTheStoreEndsAsLimit) {
  here_ = Make({.max_journal_bytes = 1});
  const RunView view = Start(Script({FakeCall{.tool = "read"}}));
  EXPECT_EQ(view.outcome.status, RunStatus::kLimit);
  EXPECT_EQ(view.outcome.reason, RunReason::kToolCalls);
  EXPECT_EQ(view.outcome.error->type, "LimitError");
  EXPECT_THAT(view.outcome.error->message, HasSubstr("1 bytes (runs.max_journal_bytes)"));
  EXPECT_THAT(effects_, IsEmpty());
  EXPECT_EQ(Find(view.id).outcome.reason, RunReason::kToolCalls);
}

TEST_F(DurableRunsTest, AnOwnerWithoutRoomInTheStoreStartsNoRun) {
  here_ = Make({.max_stored_bytes = 1});
  EXPECT_EQ(Start(Script({})).outcome.status, RunStatus::kCompleted);
  loop_.Until([&] { return *loop_.Await(store_->runs().StoredBytes(ann_)) > 0; });
  here_ = Make({.max_stored_bytes = 1});
  const auto refused = loop_.Await(here_->runs().Start(ann_, {.code = "code"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message(), HasSubstr("(runs.max_stored_bytes)"));
  EXPECT_THAT(here_->engine().requests(), IsEmpty());
  EXPECT_THAT(effects_, IsEmpty());
}

class EditedRunsTest : public DurableRunsTest {
 protected:
  std::shared_ptr<const CodeSetting> setting_of_run_;

  std::shared_ptr<const CodeSetting> Paying() {
    return Setting({*Tool::Make(
        {.name = "pay",
         .input_schema = Dict{{{"properties", Dict{{{"to", Dict{{{"type", "string"}}}}}}}}},
         .approval = Approval::Always()},
        Inline([this](const Dict& given) {
          effects_.push_back(*given.Find("to")->If<std::string>());
          return Value();
        }))});
  }
  static FakeScript PayingBob() {
    return Script(
        {FakeCall{.tool = "pay", .keywords = Dict{{{"to", "bob"}}}}, FakeOutput{.text = "paid"}});
  }
  Result<StoredApproval> Change(Replica& replica, const RunView& view, Dict changes) {
    return loop_.Await(replica.runs().Decide(
        ann_, ApprovalId(view.outcome.approvals.at(0).id),
        {.verdict = ApprovalState::kApproved, .by = "ann", .changes = std::move(changes)}));
  }
};

// I5
TEST_F(EditedRunsTest, TheEditedArgumentsAreExecutedAndNothingElse) {
  const auto setting = Paying();
  RunView view = Start(PayingBob(), {.code = "code", .setting = setting});
  EXPECT_EQ(Change(*here_, view, Dict{{{"to", 7}}}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Change(*here_, view, Dict{{{"cc", "x"}}}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(effects_, IsEmpty());
  ASSERT_TRUE(Change(*here_, view, Dict{{{"to", "eve"}}}));
  EXPECT_TRUE(Change(*here_, view, Dict{{{"to", "eve"}}}));
  EXPECT_EQ(Change(*here_, view, Dict{{{"to", "joe"}}}).error().code(),
            ErrorCode::kFailedPrecondition);
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.stdout_text, "paid");
  EXPECT_THAT(effects_, ElementsAre("eve"));
  const StoredCall call = loop_.Await(store_->runs().Calls(ann_, view.id))->at(0);
  EXPECT_EQ(call.call.arguments, R"({"to":"bob"})");
  EXPECT_EQ(call.edited->text, R"({"to":"eve"})");
}

// I5, I6
TEST_F(EditedRunsTest, AnotherReplicaExecutesTheEditAlsoWhenItReplays) {
  for (const bool upgraded : {false, true}) {
    effects_.clear();
    setting_of_run_ = Paying();
    const auto make = [&] {
      return std::make_unique<Replica>(loop_, *store_, keys_, clock_, setting_of_run_,
                                       RunSettings{}, DeskOptions{});
    };
    here_ = make();
    RunView view = Start(PayingBob());
    loop_.Await(here_->runs().Close());
    auto there = make();
    if (upgraded) {
      there->engine().Upgrade();
      there->engine().Push(PayingBob());
    } else {
      there->engine().AdoptSaved(here_->engine());
    }
    // The tool is found by the stored run: nothing of it lives in this process.
    ASSERT_TRUE(Change(*there, view, Dict{{{"to", "eve"}}}));
    view = Await(*there, view.id);
    EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
    EXPECT_EQ(view.outcome.stdout_text, "paid");
    EXPECT_THAT(effects_, ElementsAre("eve")) << upgraded;
  }
}

// I4
TEST_F(EditedRunsTest, AnEditOfAForeignApprovalIsLikeOneOfNone) {
  const auto setting = Paying();
  const RunView view = Start(PayingBob(), {.code = "code", .setting = setting});
  const auto as_bob = [&](std::string id) {
    return loop_.Await(here_->runs().Decide(
        bob_, ApprovalId(std::move(id)),
        {.verdict = ApprovalState::kApproved, .by = "bob", .changes = Dict{{{"to", "bob2"}}}}));
  };
  const auto foreign = as_bob(view.outcome.approvals.at(0).id);
  const auto none = as_bob("apr_none");
  EXPECT_EQ(foreign.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(foreign.error().message(), none.error().message());
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, SilenceIsNoConsent) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  clock_.Advance(std::chrono::hours(24 * 8));
  loop_.Await(here_->runs().TendOnce());
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.calls.at(0).outcome, "denied");
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, ASleepingRunGoesOnInAnotherProcess) {
  RunView view = Start(Script({FakeOutput{.text = "a"}, FakeCall{.tool = "read"},
                               FakeCall{.tool = "send"}, FakeOutput{.text = "b"}}));
  EXPECT_THAT(effects_, ElementsAre("read"));
  loop_.Await(here_->runs().Close());  // Saves it to the store.
  EXPECT_EQ(here_->engine().stats().cells_live, 0u);
  auto there = Make();
  there->engine().AdoptSaved(here_->engine());
  ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
  view = Await(*there, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.outcome.stdout_text, "ab");
  EXPECT_THAT(effects_, ElementsAre("read", "send"));
  ASSERT_EQ(view.outcome.calls.size(), 2u);
  EXPECT_EQ(view.outcome.calls[1].outcome, "returned");
  EXPECT_THAT(there->engine().requests(), IsEmpty());  // Nothing was executed again.
}

TEST_F(DurableRunsTest, AfterAnUpgradeItBeginsAgainAndNothingIsDoneTwice) {
  const auto script = Script({FakeOutput{.text = "a"}, FakeCall{.tool = "read"},
                              FakeCall{.tool = "send"}, FakeOutput{.text = "b"}});
  RunView view = Start(script);
  loop_.Await(here_->runs().Close());
  auto there = Make();
  there->engine().Upgrade();
  there->engine().Push(script);
  ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
  view = Await(*there, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << view.outcome.error->message;
  EXPECT_EQ(view.outcome.stdout_text, "ab");
  EXPECT_THAT(effects_, ElementsAre("read", "send"));
  // The same code and random bytes, and the recorded answer at its recorded time.
  const RunRequest& first = here_->engine().requests().at(0).second;
  const RunRequest& again = there->engine().requests().at(0).second;
  EXPECT_EQ(first.code, again.code);
  EXPECT_EQ(first.recording->seed, again.recording->seed);
  EXPECT_FALSE(first.recording->must_repeat);
  EXPECT_TRUE(again.recording->must_repeat);
  EXPECT_EQ(here_->engine().answer_times().at(0), there->engine().answer_times().at(0));
}

TEST_F(DurableRunsTest, CodeThatDoesSomethingElseThanBeforeHasDiverged) {
  RunView view = Start(Script({FakeCall{.tool = "read"}, FakeCall{.tool = "send"}}));
  loop_.Await(here_->runs().Close());
  auto there = Make();
  there->engine().Upgrade();
  there->engine().Push(Script({FakeCall{.tool = "put"}, FakeCall{.tool = "send"}}));
  ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
  view = Await(*there, view.id);
  EXPECT_EQ(view.outcome.reason, RunReason::kDiverged);
  EXPECT_THAT(effects_, ElementsAre("read"));
}

TEST_F(DurableRunsTest, CodeThatEndsBeforeItsRecordHasDiverged) {
  RunView view = Start(Script({FakeCall{.tool = "read"}, FakeCall{.tool = "send"}}));
  loop_.Await(here_->runs().Close());
  auto there = Make();
  there->engine().Upgrade();
  there->engine().Push(Script({}));
  ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
  EXPECT_EQ(Await(*there, view.id).outcome.reason, RunReason::kDiverged);
  EXPECT_THAT(effects_, ElementsAre("read"));
}

TEST_F(DurableRunsTest, AProcessThatDiesLosesItsLeaseAndAnotherGoesOn) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  auto there = Make();
  there->engine().AdoptSaved(here_->engine());
  loop_.Await(there->runs().TendOnce());
  EXPECT_THAT(effects_, IsEmpty());  // It is held, and there is no decision.
  ASSERT_TRUE(loop_.Await(store_->approvals().Decide(
      ann_, ApprovalId(view.outcome.approvals[0].id),
      {.verdict = ApprovalState::kApproved, .by = "ann", .at = clock_.Now()})));
  loop_.Await(there->runs().TendOnce());
  EXPECT_THAT(effects_, IsEmpty());  // It is held.
  Elapse();
  loop_.Await(there->runs().TendOnce());
  EXPECT_EQ(Await(*there, view.id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
  // The replica that was considered dead but is not does no harm.
  loop_.Await(here_->runs().TendOnce());
  loop_.Until([&] { return here_->engine().stats().cells_live == 0; });
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(DurableRunsTest, ADecisionMadeElsewhereIsNoticed) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  ASSERT_TRUE(loop_.Await(store_->approvals().Decide(
      ann_, ApprovalId(view.outcome.approvals[0].id),
      {.verdict = ApprovalState::kApproved, .by = "ann", .at = clock_.Now()})));
  loop_.Await(here_->runs().TendOnce());
  EXPECT_EQ(Await(*here_, view.id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
}

// AC-39, AC-41, AC-55: of several that wait, exactly the one that is named is decided.
TEST_F(DurableRunsTest, ADecisionIsOneRunsAlone) {
  std::vector<RunView> views;
  for (int i = 0; i < 4; ++i) views.push_back(Start(Script({FakeCall{.tool = "send"}})));
  EXPECT_THAT(effects_, IsEmpty());
  ASSERT_TRUE(Decide(*here_, views[2].outcome.approvals[0].id));
  EXPECT_EQ(Await(*here_, views[2].id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
  for (const int other : {0, 1, 3}) {
    EXPECT_EQ(Find(views[static_cast<std::size_t>(other)].id).state, RunState::kWaiting);
  }
  // An approval that was decided, or never requested, decides nothing.
  EXPECT_FALSE(Decide(*here_, views[2].outcome.approvals[0].id, ApprovalState::kDenied));
  EXPECT_FALSE(Decide(*here_, "apr_x"));
  EXPECT_THAT(effects_, ElementsAre("send"));
}

// AC-36
TEST_F(DurableRunsTest, CancellingARunLeavesTheOthers) {
  const RunView first = Start(Script({FakeCall{.tool = "send"}}));
  const RunView second = Start(Script({FakeCall{.tool = "send"}}));
  EXPECT_EQ(loop_.Await(here_->runs().Cancel(ann_, first.id))->outcome.status,
            RunStatus::kCancelled);
  EXPECT_EQ(Find(second.id).state, RunState::kWaiting);
  ASSERT_TRUE(Decide(*here_, second.outcome.approvals[0].id));
  EXPECT_EQ(Await(*here_, second.id).outcome.status, RunStatus::kCompleted);
}

// AC-38, AC-48, AC-49, AC-65: the owner of a run decides whom it acts for; no variable does, and
// none replaces an approval.
TEST_F(DurableRunsTest, CallerVariablesDecideNeitherWhoIsAskedNorWhether) {
  CallerHost host({{EnvironmentName(CallerVariable::kUserId), "bob"},
                   {EnvironmentName(CallerVariable::kCron), "1"}});
  CallerContext session(host);
  session.Bind({.values = {{CallerVariable::kUserId, "bob"},
                           {CallerVariable::kPrincipal, bob_.str()},
                           {CallerVariable::kKey, bob_.str()}}});
  session.Set(CallerVariable::kCron, "1");
  const RunView view =
      Start(Script({FakeCall{.tool = "send"}}),
            {.code = "code", .caller = std::make_shared<const CallerContext>(session.Fork())});
  EXPECT_EQ(view.state, RunState::kWaiting);
  EXPECT_EQ(loop_.Await(here_->runs().ListApprovals(ann_, {}, {}))->items.size(), 1u);
  EXPECT_THAT(loop_.Await(here_->runs().ListApprovals(bob_, {}, {}))->items, IsEmpty());
}

TEST_F(DurableRunsTest, SecondThoughtsAreRefused) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id, ApprovalState::kDenied));
  EXPECT_EQ(Decide(*here_, view.outcome.approvals[0].id).error().code(),
            ErrorCode::kFailedPrecondition);
  Await(*here_, view.id);
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, TooManyParkedRunsGoToSleepTheOldestFirst) {
  here_ = Make({.max_parked = 1});
  const RunView first = Start(Script({FakeCall{.tool = "send"}}));
  clock_.Advance(1s);
  const RunView second = Start(Script({FakeCall{.tool = "send"}}));
  loop_.Until([&] { return here_->engine().stats().cells_live == 1; });
  EXPECT_EQ(Find(first.id).state, RunState::kWaiting);
  ASSERT_TRUE(Decide(*here_, first.outcome.approvals[0].id));
  ASSERT_TRUE(Decide(*here_, second.outcome.approvals[0].id));
  EXPECT_EQ(Await(*here_, first.id).outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(Await(*here_, second.id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send", "send"));
}

TEST_F(DurableRunsTest, ParkedRunsThatHoldTooMuchGoToSleepTheOldestFirst) {
  const RunView small = Start(Script({FakeCall{.tool = "send"}}));
  here_ = Make({.max_parked_bytes = small.saved_bytes * 5 / 2});
  const RunView first = Start(Script({FakeCall{.tool = "send"}}));
  clock_.Advance(1s);
  const RunView second = Start(Script({FakeCall{.tool = "send"}}));
  EXPECT_EQ(here_->engine().stats().cells_live, 2u);
  clock_.Advance(1s);
  Start(Script({FakeCall{.tool = "send"}}));
  loop_.Until([&] { return here_->engine().stats().cells_live == 2; });
  // The others are answered in place, the first is restored.
  ASSERT_TRUE(Decide(*here_, second.outcome.approvals[0].id));
  EXPECT_EQ(Await(*here_, second.id).outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(here_->engine().restored(), 0);
  ASSERT_TRUE(Decide(*here_, first.outcome.approvals[0].id));
  EXPECT_EQ(Await(*here_, first.id).outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(here_->engine().restored(), 1);
}

TEST_F(DurableRunsTest, AParkedRunThatIsInTheWayOfAnotherSleeps) {
  const RunView first = Start(Script({FakeCall{.tool = "send"}}));
  clock_.Advance(1s);
  const RunView second = Start(Script({FakeCall{.tool = "send"}}));
  loop_.Await(here_->runs().TendOnce());
  EXPECT_EQ(here_->engine().stats().cells_live, 2u);
  here_->engine().PretendWaiting(1);
  loop_.Await(here_->runs().TendOnce());
  loop_.Until([&] { return here_->engine().stats().cells_live == 1; });
  here_->engine().PretendWaiting(0);
  ASSERT_TRUE(Decide(*here_, second.outcome.approvals[0].id));
  EXPECT_EQ(Await(*here_, second.id).outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(here_->engine().restored(), 0);
  EXPECT_EQ(Find(first.id).state, RunState::kWaiting);
}

TEST_F(DurableRunsTest, ARunThatWaitedLongEnoughSleeps) {
  here_ = Make({.keep_parked = 0ns});
  RunView view = Start(Script({FakeOutput{.text = "x"}, FakeCall{.tool = "send"}}));
  loop_.Until([&] { return here_->engine().stats().cells_live == 0; });
  EXPECT_EQ(Find(view.id).outcome.stdout_text, "x");
  EXPECT_EQ(Find(view.id).outcome.approvals.size(), 1u);
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.stdout_text, "x");
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(DurableRunsTest, ADecisionWhileItFallsAsleepCounts) {
  here_ = Make({.keep_parked = 0ns});
  for (int i = 0; i < 50; ++i) {
    RunView view = Start(Script({FakeCall{.tool = "send"}}));
    ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
    EXPECT_EQ(Await(*here_, view.id).outcome.status, RunStatus::kCompleted);
  }
  EXPECT_EQ(effects_.size(), 50u);
}

// An attacker who can write to the store, but has no key, replaces the bytes of a saved run.
TEST_F(DurableRunsTest, BytesThatAreNotTheRunsNeverReachAWorker) {
  const auto asks = Script({FakeCall{.tool = "send"}, FakeCall{.tool = "send"}});
  const auto sealed = [&](const IsolationKey& owner, const RunId& id) {
    return loop_.Await(store_->runs().LoadSaved(owner, id))->sealed;
  };
  for (const std::string how : {"changed", "cut", "replayed", "another run's", "another owner's"}) {
    here_ = Make();
    const std::string another_runs = sealed(ann_, Start(asks).id);
    here_->engine().Push(asks);
    const std::string another_owners =
        sealed(bob_, loop_.Await(here_->runs().Start(bob_, {.code = "code"}))->id);
    RunView view = Start(asks);
    const std::string old = sealed(ann_, view.id);
    ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
    view = Await(*here_, view.id);
    ASSERT_EQ(view.state, RunState::kWaiting);
    loop_.Await(here_->runs().Close());
    effects_.clear();

    SavedRun forged = *loop_.Await(store_->runs().LoadSaved(ann_, view.id));
    if (how == "changed") forged.sealed.back() = static_cast<char>(forged.sealed.back() ^ 1);
    if (how == "cut") forged.sealed.pop_back();
    if (how == "replayed") forged.sealed = old;
    if (how == "another run's") forged.sealed = another_runs;
    if (how == "another owner's") forged.sealed = another_owners;
    const Lease lease = *loop_.Await(store_->runs().Claim(
        ann_, view.id, {.holder = "thief", .now = clock_.Now(), .until = clock_.Now() + 1s}));
    ASSERT_TRUE(loop_.Await(store_->runs().Wait(ann_, view.id, lease, forged, clock_.Now())));
    Elapse();
    auto there = Make();
    there->engine().AdoptSaved(here_->engine());
    ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
    EXPECT_EQ(Await(*there, view.id).outcome.reason, RunReason::kLost) << how;
    EXPECT_THAT(there->engine().requests(), IsEmpty()) << how;
    EXPECT_THAT(effects_, IsEmpty()) << how;
  }
}

// An older copy under its own number opens: the effects since then are not repeated.
TEST_F(DurableRunsTest, AnOlderCopyOfARunRepeatsNothing) {
  const auto asks = Script({FakeCall{.tool = "send"}, FakeCall{.tool = "send"}});
  RunView view = Start(asks);
  const SavedRun old = *loop_.Await(store_->runs().LoadSaved(ann_, view.id));
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
  view = Await(*here_, view.id);
  loop_.Await(here_->runs().Close());
  const Lease lease = *loop_.Await(store_->runs().Claim(
      ann_, view.id, {.holder = "thief", .now = clock_.Now(), .until = clock_.Now() + 1s}));
  ASSERT_TRUE(loop_.Await(store_->runs().Wait(ann_, view.id, lease, old, clock_.Now())));
  Elapse();
  auto there = Make();
  there->engine().AdoptSaved(here_->engine());
  ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
  EXPECT_EQ(Await(*there, view.id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send", "send"));
}

TEST_F(DurableRunsTest, AnEffectThatWasUnderWayWhenItsHostDiedIsUncertain) {
  // The state after a process died in an effect: the row, and nothing after.
  RunView view = Start(Script({FakeCall{.tool = "send"}, FakeCall{.tool = "put"}}));
  loop_.Await(here_->runs().Close());
  Elapse();
  ASSERT_TRUE(loop_.Await(store_->approvals().Decide(
      ann_, ApprovalId(view.outcome.approvals[0].id),
      {.verdict = ApprovalState::kApproved, .by = "ann", .at = clock_.Now()})));
  const Lease lease = *loop_.Await(store_->runs().Claim(
      ann_, view.id, {.holder = "dead", .now = clock_.Now(), .until = clock_.Now() + 1s}));
  ASSERT_TRUE(loop_.Await(store_->runs().StartCall(
      ann_, view.id, lease, 0, ApprovalId(view.outcome.approvals[0].id), clock_.Now())));
  Elapse();
  auto there = Make();
  there->engine().AdoptSaved(here_->engine());
  loop_.Await(there->runs().TendOnce());
  view = Await(*there, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.outcome.calls.at(0).outcome, "uncertain");
  EXPECT_EQ(std::get<ToolRaised>(there->engine().answers().at(0).second).type, "UncertainError");
  EXPECT_THAT(effects_, ElementsAre("put"));
}

class SetbackTest : public DurableRunsTest {
 protected:
  // A saved run with an approval.
  RunView Decided() {
    RunView view = Start(Script({FakeCall{.tool = "send"}}));
    loop_.Await(here_->runs().Close());
    EXPECT_TRUE(loop_.Await(store_->approvals().Decide(
        ann_, ApprovalId(view.outcome.approvals[0].id),
        {.verdict = ApprovalState::kApproved, .by = "ann", .at = clock_.Now()})));
    return view;
  }
  // Another process tends the store, once, and is gone.
  void Tend(std::optional<Error> failure) {
    auto there = Make({.max_attempts = 3, .lease = 15s});
    there->engine().AdoptSaved(here_->engine());
    if (failure) there->engine().FailNextOpen(*failure);
    loop_.Await(there->runs().TendOnce());
    loop_.Until([&] { return !IsHeld(); });
  }
  // Later than any setback here, earlier than the end of a lease.
  bool IsHeld() {
    const auto soon = clock_.Now() + 10s;
    const auto ended = loop_.Await(store_->runs().List(ann_, RunState::kFinished, {}));
    const auto free = loop_.Await(store_->maintenance().ResumableRuns(soon, 1));
    return ended->items.empty() && free->empty();
  }
  std::uint32_t Attempts(const RunId& id) {
    return loop_.Await(store_->runs().Find(ann_, id))->attempts;
  }

  const Error lost_{ErrorCode::kInternal, "the worker was lost"};
};

TEST_F(SetbackTest, ARestoreThatBringsItsWorkerDownIsTriedAFewTimesEachTimeLater) {
  const RunView view = Decided();
  Tend(lost_);
  EXPECT_EQ(Attempts(view.id), 1u);
  Tend({});  // Too early.
  EXPECT_EQ(Attempts(view.id), 1u);
  clock_.Advance(1s);
  Tend(lost_);
  EXPECT_EQ(Attempts(view.id), 2u);
  clock_.Advance(3s);
  Tend({});
  EXPECT_EQ(Attempts(view.id), 2u);
  EXPECT_EQ(Find(view.id).state, RunState::kWaiting);
  clock_.Advance(1s);
  Tend(lost_);
  const RunView ended = Find(view.id);
  EXPECT_EQ(ended.outcome.status, RunStatus::kFailed);
  EXPECT_EQ(ended.outcome.reason, RunReason::kCrashed);
  EXPECT_THAT(ended.outcome.error->message, HasSubstr("the worker was lost"));
  EXPECT_EQ(ended.outcome.calls.at(0).outcome, "pending");
  clock_.Advance(1h);
  Tend({});
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(SetbackTest, HostsThatDieOfARunAreCountedToo) {
  const RunView view = Decided();
  for (int i = 0; i < 3; ++i) {
    const auto lease = loop_.Await(store_->runs().Claim(
        ann_, view.id,
        {.holder = "dead" + std::to_string(i), .now = clock_.Now(), .until = clock_.Now() + 1s}));
    ASSERT_TRUE(lease);
    ASSERT_TRUE(loop_.Await(store_->runs().DoubtStartedCalls(ann_, view.id, *lease, clock_.Now())));
    Elapse();
  }
  Tend({});
  const RunView ended = Find(view.id);
  EXPECT_EQ(ended.outcome.reason, RunReason::kCrashed);
  EXPECT_THAT(ended.outcome.error->message, HasSubstr("3 times"));
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(SetbackTest, ThatThereIsNoRoomIsNotTheRunsFault) {
  const RunView view = Decided();
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kDeadlineExceeded,
                               ErrorCode::kResourceExhausted, ErrorCode::kUnavailable}) {
    Tend(Error(code, "not now"));
    EXPECT_EQ(Attempts(view.id), 0u);
    EXPECT_EQ(Find(view.id).state, RunState::kWaiting);
    clock_.Advance(1s);
  }
  Tend({});
  EXPECT_EQ(Find(view.id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(DurableRunsTest, CancellingEndsAWaitingRunAndItsQuestion) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  view = *loop_.Await(here_->runs().Cancel(ann_, view.id));
  EXPECT_EQ(view.outcome.status, RunStatus::kCancelled);
  const auto approvals = loop_.Await(here_->runs().ListApprovals(ann_, {}, {}));
  EXPECT_EQ(approvals->items.at(0).state, ApprovalState::kCancelled);
  // Also a saved one.
  here_ = Make({.keep_parked = 0ns});
  view = Start(Script({FakeCall{.tool = "send"}}));
  loop_.Until([&] { return here_->engine().stats().cells_live == 0; });
  loop_.Await(here_->runs().TendOnce());
  EXPECT_EQ(loop_.Await(here_->runs().Cancel(ann_, view.id))->outcome.status,
            RunStatus::kCancelled);
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, ARunThatAnotherReplicaHoldsIsCancelledThroughTheStore) {
  const RunView view = Start(Script({FakeCall{.tool = "send"}}));
  auto there = Make();
  here_->runs().Tend();
  const auto cancelled = loop_.Await(there->runs().Cancel(ann_, view.id));
  ASSERT_TRUE(cancelled) << cancelled.error().message();
  EXPECT_EQ(cancelled->outcome.status, RunStatus::kCancelled);
  EXPECT_EQ(Find(view.id).outcome.status, RunStatus::kCancelled);
  EXPECT_FALSE(Decide(*there, view.outcome.approvals[0].id));
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, ACancelIsNotForgottenWhenTheHolderDies) {
  const RunView view = Start(Script({FakeCall{.tool = "send"}}));
  ASSERT_TRUE(loop_.Await(store_->runs().AskToCancel(ann_, view.id, clock_.Now())));
  auto there = Make();
  loop_.Await(there->runs().TendOnce());
  EXPECT_EQ(loop_.Await(there->runs().Find(ann_, view.id))->state,
            RunState::kWaiting);  // It is held.
  Elapse();
  loop_.Await(there->runs().TendOnce());
  EXPECT_EQ(loop_.Await(there->runs().Find(ann_, view.id))->outcome.status, RunStatus::kCancelled);
}

TEST_F(DurableRunsTest, AListShowsHowRunsEndedAndReadsNoOutcome) {
  const auto finish = [&](const char* id, RunEnd end) {
    const auto lease = loop_.Await(store_->runs().Create(
        ann_, {.id = RunId(id)}, {.holder = "x", .now = clock_.Now(), .until = clock_.Now() + 1s}));
    ASSERT_TRUE(loop_.Await(store_->runs().Finish(
        ann_, RunId(id), *lease, std::make_shared<const RunEnd>(std::move(end)), clock_.Now())));
  };
  const Outcome limit{.status = RunStatus::kLimit, .reason = RunReason::kWallTime};
  finish("a", {.outcome = "unreadable", .summary = EncodeSummary(limit)});
  finish("b", {.outcome = EncodeOutcome(limit)});  // An older version has written it.
  FakeScript script = Script({FakeOutput{.text = "text"}});
  script.outcome.files = {{.path = "/output/f", .change = "created", .size = 2, .contents = "ab"}};
  const RunView ended = Start(script);
  const RunView waiting = Start(Script({FakeCall{.tool = "send"}}));
  const auto page = loop_.Await(here_->runs().List(ann_, {}, {}));
  ASSERT_TRUE(page) << page.error().message();
  ASSERT_EQ(page->items.size(), 4u);
  for (const RunView& view : page->items) {
    EXPECT_EQ(view.outcome.run_id, view.id.str());
    EXPECT_EQ(view.outcome.stdout_text, "");
    if (view.id == waiting.id) {
      EXPECT_EQ(view.state, RunState::kWaiting);
      EXPECT_EQ(view.outcome.reason, RunReason::kApproval);
      EXPECT_GT(view.saved_bytes, 0u);
      EXPECT_NE(view.saved_build, "");
      continue;
    }
    EXPECT_EQ(view.state, RunState::kFinished);
    const bool ours = view.id == ended.id;
    EXPECT_EQ(view.outcome.status, ours ? RunStatus::kCompleted : RunStatus::kLimit);
    EXPECT_EQ(view.outcome.reason, ours ? RunReason::kReturned : RunReason::kWallTime);
    ASSERT_EQ(view.outcome.files.size(), ours ? 1u : 0u);
    if (ours) EXPECT_EQ(view.outcome.files[0].path, "/output/f");
  }
  EXPECT_FALSE(loop_.Await(here_->runs().Find(ann_, RunId("a"))));
}

TEST_F(DurableRunsTest, AnothersRunIsLikeNone) {
  const RunView view = Start(Script({FakeCall{.tool = "send"}}));
  JournaledRuns& runs = here_->runs();
  const auto same = [&](auto foreign, auto absent) {
    EXPECT_EQ(foreign.error().code(), ErrorCode::kNotFound);
    EXPECT_EQ(foreign.error().message(), absent.error().message());
  };
  same(loop_.Await(runs.Find(bob_, view.id)), loop_.Await(runs.Find(bob_, RunId("run_x"))));
  same(loop_.Await(runs.Cancel(bob_, view.id)), loop_.Await(runs.Cancel(bob_, RunId("run_x"))));
  same(loop_.Await(runs.Await(bob_, view.id, {}, {})),
       loop_.Await(runs.Await(bob_, RunId("run_x"), {}, {})));
  same(loop_.Await(runs.File(bob_, view.id, 0)), loop_.Await(runs.File(bob_, RunId("run_x"), 0)));
  const ApprovalId approval(view.outcome.approvals[0].id);
  same(loop_.Await(runs.Decide(bob_, approval, {.verdict = ApprovalState::kApproved})),
       loop_.Await(runs.Decide(bob_, ApprovalId("apr_x"), {.verdict = ApprovalState::kApproved})));
  EXPECT_THAT(loop_.Await(runs.List(bob_, {}, {}))->items, IsEmpty());
  EXPECT_EQ(Find(view.id).state, RunState::kWaiting);
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, NobodyIsAskedMoreThanTheOwnerMayWaitFor) {
  here_ = Make({}, {.max_pending = 1});
  Start(Script({FakeCall{.tool = "send"}}));
  const RunView second = Start(Script({FakeCall{.tool = "send"}}));
  EXPECT_EQ(second.state, RunState::kFinished);
  EXPECT_EQ(second.outcome.calls.at(0).outcome, "denied");
  EXPECT_THAT(std::get<ToolDenied>(here_->engine().answers().at(0).second).message,
              HasSubstr("too many"));
  here_ = Make({.waiting = {.runs = 1}});
  EXPECT_EQ(Start(Script({FakeCall{.tool = "send"}})).outcome.calls.at(0).outcome, "denied");
}

TEST_F(DurableRunsTest, WaitingRunsAreBoundedPerOwnerAndInAll) {
  const auto told = [&](WaitingLimits limits, const IsolationKey& owner) {
    here_ = Make({.waiting = limits});
    here_->engine().Push(Script({FakeCall{.tool = "send"}}));
    const auto view = loop_.Await(here_->runs().Start(owner, {.code = "code"}));
    if (view->state == RunState::kWaiting) return std::string("asked");
    EXPECT_EQ(view->outcome.calls.at(0).outcome, "denied");
    return std::get<ToolDenied>(here_->engine().answers().at(0).second).message;
  };
  const RunView waiting = Start(Script({FakeCall{.tool = "send"}}));
  const std::uint64_t bytes = waiting.saved_bytes;
  EXPECT_THAT(told({.runs = 1}, ann_), HasSubstr("too many of your runs"));
  EXPECT_THAT(told({.saved_bytes = bytes}, ann_), HasSubstr("too much room"));
  EXPECT_THAT(told({.runs_in_all = 1}, bob_), HasSubstr("the server has too many waiting runs"));
  EXPECT_THAT(told({.saved_bytes_in_all = bytes}, bob_),
              HasSubstr("the server has too many waiting runs"));
  EXPECT_EQ(told({.runs = 1, .saved_bytes = bytes, .runs_in_all = 2}, bob_), "asked");
  EXPECT_THAT(effects_, IsEmpty());
  EXPECT_EQ(Find(waiting.id).state, RunState::kWaiting);  // No waiting run is dropped for it.
}

// A request that was accepted is not withdrawn by the bounds of the replica that continues the run.
TEST_F(DurableRunsTest, AYesCountsHoweverManyWaitByThen) {
  const RunView first = Start(Script({FakeCall{.tool = "send"}}));
  Start(Script({FakeCall{.tool = "send"}}));
  loop_.Await(here_->runs().Close());
  auto there = Make({.waiting = {.runs = 1, .runs_in_all = 1}}, {.max_pending = 1});
  there->engine().AdoptSaved(here_->engine());
  ASSERT_TRUE(Decide(*there, first.outcome.approvals[0].id));
  EXPECT_EQ(Await(*there, first.id).outcome.calls.at(0).outcome, "returned");
  EXPECT_THAT(effects_, ElementsAre("send"));
}

// Also between two counts.
TEST_F(DurableRunsTest, TheBoundInAllHoldsForManyAtOnce) {
  here_ = Make({.waiting = {.runs_in_all = 3}});
  int waiting = 0;
  for (int i = 0; i < 6; ++i) {
    waiting += Start(Script({FakeCall{.tool = "send"}})).state == RunState::kWaiting ? 1 : 0;
  }
  EXPECT_EQ(waiting, 3);
}

TEST_F(DurableRunsTest, ADecisionAtTheDeskWakesTheRun) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  ASSERT_TRUE(loop_.Await(here_->desk().Decide(ann_, ApprovalId(view.outcome.approvals[0].id),
                                               {.verdict = ApprovalState::kApproved, .by = "b"})));
  EXPECT_EQ(Await(*here_, view.id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(DurableRunsTest, ASessionsRunWaitsInMemoryAndIsLostWithIt) {
  RunView view =
      Start(Script({FakeCall{.tool = "send"}}), {.code = "code", .session = std::string("s")});
  EXPECT_EQ(view.state, RunState::kWaiting);
  EXPECT_EQ(view.saved_bytes, 0u);
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
  EXPECT_EQ(Await(*here_, view.id).outcome.status, RunStatus::kCompleted);
  view = Start(Script({FakeCall{.tool = "send"}}), {.code = "code", .session = std::string("s")});
  auto there = Make();
  Elapse();
  ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
  EXPECT_EQ(Await(*there, view.id).outcome.reason, RunReason::kLost);
  EXPECT_THAT(effects_, ElementsAre("send"));
}

// The session's name is reused; the approvals of the old session do not apply.
TEST_F(DurableRunsTest, AYesForASessionEndsWithTheSession) {
  const auto start = [&](FakeScript script, RunSpec request) {
    return Start(std::move(script), std::move(request));
  };
  const FakeScript sends = Script({FakeCall{.tool = "send"}});
  RunView view = start(sends, {.code = "code", .session = "s"});
  ASSERT_EQ(view.state, RunState::kWaiting);
  const StandingYes any{.scope = StandingYes::Scope::kSession,
                        .arguments = StandingYes::Arguments::kAny};
  ASSERT_TRUE(loop_.Await(
      here_->runs().Decide(ann_, ApprovalId(view.outcome.approvals[0].id),
                           {.verdict = ApprovalState::kApproved, .by = "ann", .standing = any})));
  EXPECT_EQ(Await(*here_, view.id).outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(start(sends, {.code = "code", .session = "s"}).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send", "send"));
  // A copy is a new session.
  view = start(sends, {.code = "code", .session = "copy", .fork_of = "s"});
  EXPECT_EQ(view.state, RunState::kWaiting);
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id, ApprovalState::kDenied));
  Await(*here_, view.id);
  FakeScript loses = Script({});
  loses.loses_state = true;
  start(std::move(loses), {.code = "code", .session = "s"});
  view = start(sends, {.code = "code", .session = "s", .restart = Restart::kIfLost});
  EXPECT_EQ(view.state, RunState::kWaiting);
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id, ApprovalState::kDenied));
  Await(*here_, view.id);
  EXPECT_THAT(effects_, ElementsAre("send", "send"));
}

// No decision is needed first: a run that cannot continue reports that as soon as its host is known
// to be gone.
TEST_F(DurableRunsTest, AWaitingRunThatWasInMemoryAloneEndsAsLostWithItsHost) {
  const RunView view =
      Start(Script({FakeCall{.tool = "send"}}), {.code = "code", .session = std::string("s")});
  auto there = Make();
  loop_.Await(there->runs().TendOnce());
  EXPECT_EQ(loop_.Await(there->runs().Find(ann_, view.id))->state,
            RunState::kWaiting);  // It is held.
  Elapse();
  loop_.Await(there->runs().TendOnce());
  const RunView lost = *loop_.Await(there->runs().Find(ann_, view.id));
  EXPECT_EQ(lost.outcome.reason, RunReason::kLost);
  EXPECT_THAT(lost.outcome.error->message, HasSubstr("gone"));
  EXPECT_FALSE(Decide(*there, view.outcome.approvals[0].id));
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, LimitsAboveTheCeilingAreRefused) {
  RunSpec request{.code = "code"};
  request.limits = Limits{.wall_time = std::chrono::hours(1)};
  EXPECT_EQ(loop_.Await(here_->runs().Start(ann_, std::move(request))).error().code(),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace caisson
