#include "codeact/durable/durable_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>

#include "engine/fake/fake_engine.h"
#include "store/sqlite/sqlite_store.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kPatience = 30s;  // A test that waits longer hangs.

FakeScript Script(std::vector<std::variant<FakeOutput, FakeCall>> steps) {
  return {.steps = std::move(steps),
          .outcome = {.status = RunStatus::kCompleted, .reason = RunReason::kReturned}};
}

// One event loop on which everything happens, run by whoever waits.
class Loop {
 public:
  asio::io_context& context() { return context_; }
  void Until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= deadline) throw std::runtime_error("it hangs");
      context_.restart();
      context_.run_one_for(100ms);
    }
  }
  template <typename T>
  T Now(asio::awaitable<T> work) {
    std::optional<T> result;
    const auto keep = [&]() -> asio::awaitable<void> { result.emplace(co_await std::move(work)); };
    asio::co_spawn(context_, keep, Rethrow);
    Until([&] { return result.has_value(); });
    return *std::move(result);
  }
  void Now(asio::awaitable<void> work) {
    bool ended = false;
    const auto note = [&]() -> asio::awaitable<void> {
      co_await std::move(work);
      ended = true;
    };
    asio::co_spawn(context_, note, Rethrow);
    Until([&] { return ended; });
  }
  static void Rethrow(const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  asio::io_context context_;
};

// One process: its own engine and runner, over a store that others share.
class Replica {
 public:
  Replica(Loop& loop, Store& store, const KeyRing& keys, const Clock& clock,
          std::shared_ptr<const CodeSetting> setting, DurableSettings settings,
          DeskOptions desk_options)
      : loop_(loop),
        desk_(store, bell_, clock, desk_options),
        engine_(loop.context().get_executor()),
        runner_(engine_),
        runs_({.engine = engine_,
               .runner = runner_,
               .store = store,
               .desk = desk_,
               .bell = bell_,
               .keys = keys,
               .executor = loop.context().get_executor(),
               .setting = std::move(setting),
               .clock = &clock,
               .settings = settings}) {}
  ~Replica() {
    loop_.Now(runs_.Close());
    loop_.Now(runner_.Close());
    EXPECT_EQ(engine_.stats().cells_live, 0u);
  }

  FakeEngine& engine() { return engine_; }
  DurableRuns& runs() { return runs_; }
  ApprovalDesk& desk() { return desk_; }

 private:
  Loop& loop_;
  DecisionBell bell_;
  ApprovalDesk desk_;
  FakeEngine engine_;
  CodeRunner runner_;
  DurableRuns runs_;
};

class DurableRunsTest : public ::testing::Test {
 protected:
  DurableRunsTest() { here_ = Make(); }

  std::unique_ptr<Replica> Make(DurableSettings settings = {}, DeskOptions desk = {}) {
    return std::make_unique<Replica>(loop_, *store_, keys_, clock_, setting_, settings, desk);
  }
  std::shared_ptr<const Tool> Counting(std::string name, Approval approval,
                                       Repeat repeat = Repeat::kUnsafe) {
    return *Tool::Make({.name = name, .approval = std::move(approval), .repeat = repeat},
                       Inline([this, name](const Dict&) {
                         effects_.push_back(name);
                         return Value(static_cast<std::int64_t>(effects_.size()));
                       }));
  }
  std::shared_ptr<const CodeSetting> Setting(std::vector<std::shared_ptr<const Tool>> tools) {
    CodeSetting setting;
    setting.tools = std::make_shared<const ToolSet>(std::move(tools));
    return std::make_shared<const CodeSetting>(std::move(setting));
  }

  RunView Start(FakeScript script, StartRun request = {.code = "code"}) {
    here_->engine().Push(std::move(script));
    auto view = loop_.Now(here_->runs().Start(ann_, std::move(request)));
    EXPECT_TRUE(view) << view.error().message();
    return *view;
  }
  Result<StoredApproval> Decide(Replica& replica, const std::string& id,
                                ApprovalState verdict = ApprovalState::kApproved) {
    return loop_.Now(
        replica.runs().Decide(ann_, ApprovalId(id), {.verdict = verdict, .by = "ann"}));
  }
  RunView Await(Replica& replica, const RunId& id) {
    return *loop_.Now(replica.runs().Await(ann_, id, std::chrono::steady_clock::now() + kPatience));
  }
  RunView Find(const RunId& id) { return *loop_.Now(here_->runs().Find(ann_, id)); }
  // As if the process were gone: its lease runs out, its memory does not count.
  void Elapse() { clock_.Advance(1min); }

  Loop loop_;
  ManualClock clock_;
  const std::unique_ptr<Store> store_ = *OpenMemoryStore();
  const KeyRing keys_ = KeyRing::Generate();
  const IsolationKey ann_{*Identity::Create({.user = "ann"})};
  const IsolationKey bob_{*Identity::Create({.user = "bob"})};
  std::vector<std::string> effects_;
  const std::shared_ptr<const CodeSetting> setting_ =
      Setting({Counting("send", Approval::Always()), Counting("read", {}),
               Counting("put", {}, Repeat::kIdempotent)});
  std::unique_ptr<Replica> here_;
};

TEST_F(DurableRunsTest, ARunWithoutGatedToolsRunsAsItAlwaysDid) {
  const auto plain = Setting({Counting("read", {})});
  RunView view = Start(Script({FakeOutput{.text = "hi"}, FakeCall{.tool = "read"}}),
                       {.code = "code", .setting = plain});
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.outcome.run_id, view.id.str());
  EXPECT_FALSE(here_->engine().requests().at(0).second.virtual_time);
  loop_.Until([&] { return !loop_.Now(store_->runs().Find(ann_, view.id)).has_value() == false; });
  EXPECT_EQ(Find(view.id).outcome.stdout_text, "hi");
  EXPECT_THAT(*loop_.Now(store_->runs().Calls(ann_, view.id)), IsEmpty());
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
  EXPECT_TRUE(here_->engine().requests().at(0).second.virtual_time);

  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.outcome.stdout_text, "before after");
  EXPECT_EQ(view.outcome.calls.at(0).outcome, "returned");
  EXPECT_THAT(effects_, ElementsAre("send"));
  EXPECT_EQ(streamed, "before ");  // Whoever started it had its answer.
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

TEST_F(DurableRunsTest, SilenceIsNoConsent) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  clock_.Advance(std::chrono::hours(24 * 8));
  loop_.Now(here_->runs().TendOnce());
  view = Await(*here_, view.id);
  EXPECT_EQ(view.outcome.calls.at(0).outcome, "denied");
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, ASleepingRunGoesOnInAnotherProcess) {
  RunView view = Start(Script({FakeOutput{.text = "a"}, FakeCall{.tool = "read"},
                               FakeCall{.tool = "send"}, FakeOutput{.text = "b"}}));
  EXPECT_THAT(effects_, ElementsAre("read"));
  loop_.Now(here_->runs().Close());  // Puts it to sleep.
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
  loop_.Now(here_->runs().Close());
  auto there = Make();
  there->engine().Upgrade();
  there->engine().Push(script);
  ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
  view = Await(*there, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << view.outcome.error->message;
  EXPECT_EQ(view.outcome.stdout_text, "ab");
  EXPECT_THAT(effects_, ElementsAre("read", "send"));
  // The same code, chance and time, and the recorded answer at its recorded time.
  const RunRequest& first = here_->engine().requests().at(0).second;
  const RunRequest& again = there->engine().requests().at(0).second;
  EXPECT_EQ(first.code, again.code);
  EXPECT_EQ(first.virtual_time->seed, again.virtual_time->seed);
  EXPECT_EQ(first.virtual_time->start, again.virtual_time->start);
  EXPECT_TRUE(again.virtual_time->must_repeat);
  EXPECT_EQ(here_->engine().answer_times().at(0), there->engine().answer_times().at(0));
}

TEST_F(DurableRunsTest, CodeThatDoesSomethingElseThanBeforeHasDiverged) {
  RunView view = Start(Script({FakeCall{.tool = "read"}, FakeCall{.tool = "send"}}));
  loop_.Now(here_->runs().Close());
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
  loop_.Now(here_->runs().Close());
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
  loop_.Now(there->runs().TendOnce());
  EXPECT_THAT(effects_, IsEmpty());  // It is held, and nobody has decided.
  ASSERT_TRUE(loop_.Now(store_->approvals().Decide(
      ann_, ApprovalId(view.outcome.approvals[0].id),
      {.verdict = ApprovalState::kApproved, .by = "ann", .at = clock_.Now()})));
  loop_.Now(there->runs().TendOnce());
  EXPECT_THAT(effects_, IsEmpty());  // It is held.
  Elapse();
  loop_.Now(there->runs().TendOnce());
  EXPECT_EQ(Await(*there, view.id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
  // The one that was thought dead and is not does no harm.
  loop_.Now(here_->runs().TendOnce());
  loop_.Until([&] { return here_->engine().stats().cells_live == 0; });
  EXPECT_THAT(effects_, ElementsAre("send"));
}

TEST_F(DurableRunsTest, ADecisionMadeElsewhereIsNoticed) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  ASSERT_TRUE(loop_.Now(store_->approvals().Decide(
      ann_, ApprovalId(view.outcome.approvals[0].id),
      {.verdict = ApprovalState::kApproved, .by = "ann", .at = clock_.Now()})));
  loop_.Now(here_->runs().TendOnce());
  EXPECT_EQ(Await(*here_, view.id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send"));
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

TEST_F(DurableRunsTest, WhoeverDecidesWhileItFallsAsleepIsHeard) {
  here_ = Make({.keep_parked = 0ns});
  for (int i = 0; i < 50; ++i) {
    RunView view = Start(Script({FakeCall{.tool = "send"}}));
    ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
    EXPECT_EQ(Await(*here_, view.id).outcome.status, RunStatus::kCompleted);
  }
  EXPECT_EQ(effects_.size(), 50u);
}

// Somebody who can write to the store, and has no key, gives a sleeping run other bytes.
TEST_F(DurableRunsTest, BytesThatAreNotTheRunsNeverReachAWorker) {
  const auto asks = Script({FakeCall{.tool = "send"}, FakeCall{.tool = "send"}});
  const auto sealed = [&](const IsolationKey& owner, const RunId& id) {
    return loop_.Now(store_->runs().LoadSaved(owner, id))->sealed;
  };
  for (const std::string how : {"changed", "cut", "replayed", "another run's", "another owner's"}) {
    here_ = Make();
    const std::string another_runs = sealed(ann_, Start(asks).id);
    here_->engine().Push(asks);
    const std::string another_owners =
        sealed(bob_, loop_.Now(here_->runs().Start(bob_, {.code = "code"}))->id);
    RunView view = Start(asks);
    const std::string old = sealed(ann_, view.id);
    ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
    view = Await(*here_, view.id);
    ASSERT_EQ(view.state, RunState::kWaiting);
    loop_.Now(here_->runs().Close());
    effects_.clear();

    SavedRun forged = *loop_.Now(store_->runs().LoadSaved(ann_, view.id));
    if (how == "changed") forged.sealed.back() = static_cast<char>(forged.sealed.back() ^ 1);
    if (how == "cut") forged.sealed.pop_back();
    if (how == "replayed") forged.sealed = old;
    if (how == "another run's") forged.sealed = another_runs;
    if (how == "another owner's") forged.sealed = another_owners;
    const Lease lease = *loop_.Now(store_->runs().Claim(
        ann_, view.id, {.holder = "thief", .now = clock_.Now(), .until = clock_.Now() + 1s}));
    ASSERT_TRUE(loop_.Now(store_->runs().Wait(ann_, view.id, lease, forged, clock_.Now())));
    Elapse();
    auto there = Make();
    there->engine().AdoptSaved(here_->engine());
    ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
    EXPECT_EQ(Await(*there, view.id).outcome.reason, RunReason::kLost) << how;
    EXPECT_THAT(there->engine().requests(), IsEmpty()) << how;
    EXPECT_THAT(effects_, IsEmpty()) << how;
  }
}

// An older copy under its own number opens: what it did since then is not done again.
TEST_F(DurableRunsTest, AnOlderCopyOfARunRepeatsNothing) {
  const auto asks = Script({FakeCall{.tool = "send"}, FakeCall{.tool = "send"}});
  RunView view = Start(asks);
  const SavedRun old = *loop_.Now(store_->runs().LoadSaved(ann_, view.id));
  ASSERT_TRUE(Decide(*here_, view.outcome.approvals[0].id));
  view = Await(*here_, view.id);
  loop_.Now(here_->runs().Close());
  const Lease lease = *loop_.Now(store_->runs().Claim(
      ann_, view.id, {.holder = "thief", .now = clock_.Now(), .until = clock_.Now() + 1s}));
  ASSERT_TRUE(loop_.Now(store_->runs().Wait(ann_, view.id, lease, old, clock_.Now())));
  Elapse();
  auto there = Make();
  there->engine().AdoptSaved(here_->engine());
  ASSERT_TRUE(Decide(*there, view.outcome.approvals[0].id));
  EXPECT_EQ(Await(*there, view.id).outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(effects_, ElementsAre("send", "send"));
}

TEST_F(DurableRunsTest, AnEffectThatWasUnderWayWhenItsHostDiedIsUncertain) {
  // What a process leaves that dies in an effect: the row, and nothing after.
  RunView view = Start(Script({FakeCall{.tool = "send"}, FakeCall{.tool = "put"}}));
  loop_.Now(here_->runs().Close());
  Elapse();
  ASSERT_TRUE(loop_.Now(store_->approvals().Decide(
      ann_, ApprovalId(view.outcome.approvals[0].id),
      {.verdict = ApprovalState::kApproved, .by = "ann", .at = clock_.Now()})));
  const Lease lease = *loop_.Now(store_->runs().Claim(
      ann_, view.id, {.holder = "dead", .now = clock_.Now(), .until = clock_.Now() + 1s}));
  ASSERT_TRUE(loop_.Now(store_->runs().StartCall(
      ann_, view.id, lease, 0, ApprovalId(view.outcome.approvals[0].id), clock_.Now())));
  Elapse();
  auto there = Make();
  there->engine().AdoptSaved(here_->engine());
  loop_.Now(there->runs().TendOnce());
  view = Await(*there, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(view.outcome.calls.at(0).outcome, "uncertain");
  EXPECT_EQ(std::get<ToolRaised>(there->engine().answers().at(0).second).type, "UncertainError");
  EXPECT_THAT(effects_, ElementsAre("put"));
}

TEST_F(DurableRunsTest, CancellingEndsAWaitingRunAndItsQuestion) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  view = *loop_.Now(here_->runs().Cancel(ann_, view.id));
  EXPECT_EQ(view.outcome.status, RunStatus::kCancelled);
  const auto approvals = loop_.Now(here_->runs().ListApprovals(ann_, {}, {}));
  EXPECT_EQ(approvals->items.at(0).state, ApprovalState::kCancelled);
  // Also one that sleeps.
  here_ = Make({.keep_parked = 0ns});
  view = Start(Script({FakeCall{.tool = "send"}}));
  loop_.Until([&] { return here_->engine().stats().cells_live == 0; });
  loop_.Now(here_->runs().TendOnce());
  EXPECT_EQ(loop_.Now(here_->runs().Cancel(ann_, view.id))->outcome.status, RunStatus::kCancelled);
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, ARunThatAnotherReplicaHoldsIsCancelledThroughTheStore) {
  const RunView view = Start(Script({FakeCall{.tool = "send"}}));
  auto there = Make();
  here_->runs().Tend();
  const auto cancelled = loop_.Now(there->runs().Cancel(ann_, view.id));
  ASSERT_TRUE(cancelled) << cancelled.error().message();
  EXPECT_EQ(cancelled->outcome.status, RunStatus::kCancelled);
  EXPECT_EQ(Find(view.id).outcome.status, RunStatus::kCancelled);
  EXPECT_FALSE(Decide(*there, view.outcome.approvals[0].id));
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, ACancelIsNotForgottenWhenTheHolderDies) {
  const RunView view = Start(Script({FakeCall{.tool = "send"}}));
  ASSERT_TRUE(loop_.Now(store_->runs().AskToCancel(ann_, view.id, clock_.Now())));
  auto there = Make();
  loop_.Now(there->runs().TendOnce());
  EXPECT_EQ(loop_.Now(there->runs().Find(ann_, view.id))->state,
            RunState::kWaiting);  // It is held.
  Elapse();
  loop_.Now(there->runs().TendOnce());
  EXPECT_EQ(loop_.Now(there->runs().Find(ann_, view.id))->outcome.status, RunStatus::kCancelled);
}

TEST_F(DurableRunsTest, AnothersRunIsLikeNone) {
  const RunView view = Start(Script({FakeCall{.tool = "send"}}));
  DurableRuns& runs = here_->runs();
  const auto same = [&](auto foreign, auto absent) {
    EXPECT_EQ(foreign.error().code(), ErrorCode::kNotFound);
    EXPECT_EQ(foreign.error().message(), absent.error().message());
  };
  same(loop_.Now(runs.Find(bob_, view.id)), loop_.Now(runs.Find(bob_, RunId("run_x"))));
  same(loop_.Now(runs.Cancel(bob_, view.id)), loop_.Now(runs.Cancel(bob_, RunId("run_x"))));
  same(loop_.Now(runs.Await(bob_, view.id, {})), loop_.Now(runs.Await(bob_, RunId("run_x"), {})));
  same(loop_.Now(runs.File(bob_, view.id, 0)), loop_.Now(runs.File(bob_, RunId("run_x"), 0)));
  const ApprovalId approval(view.outcome.approvals[0].id);
  same(loop_.Now(runs.Decide(bob_, approval, {.verdict = ApprovalState::kApproved})),
       loop_.Now(runs.Decide(bob_, ApprovalId("apr_x"), {.verdict = ApprovalState::kApproved})));
  EXPECT_THAT(loop_.Now(runs.List(bob_, {}, {}))->items, IsEmpty());
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

TEST_F(DurableRunsTest, WhoeverDecidesAtTheDeskWakesTheRun) {
  RunView view = Start(Script({FakeCall{.tool = "send"}}));
  ASSERT_TRUE(loop_.Now(here_->desk().Decide(ann_, ApprovalId(view.outcome.approvals[0].id),
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

// Nobody need decide about it first: what cannot go on says so as soon as its host is known to be gone.
TEST_F(DurableRunsTest, AWaitingRunThatWasInMemoryAloneEndsAsLostWithItsHost) {
  const RunView view =
      Start(Script({FakeCall{.tool = "send"}}), {.code = "code", .session = std::string("s")});
  auto there = Make();
  loop_.Now(there->runs().TendOnce());
  EXPECT_EQ(loop_.Now(there->runs().Find(ann_, view.id))->state,
            RunState::kWaiting);  // It is held.
  Elapse();
  loop_.Now(there->runs().TendOnce());
  const RunView lost = *loop_.Now(there->runs().Find(ann_, view.id));
  EXPECT_EQ(lost.outcome.reason, RunReason::kLost);
  EXPECT_THAT(lost.outcome.error->message, HasSubstr("gone"));
  EXPECT_FALSE(Decide(*there, view.outcome.approvals[0].id));
  EXPECT_THAT(effects_, IsEmpty());
}

TEST_F(DurableRunsTest, LimitsAboveTheCeilingAreRefused) {
  StartRun request{.code = "code"};
  request.limits = Limits{.wall_time = std::chrono::hours(1)};
  EXPECT_EQ(loop_.Now(here_->runs().Start(ann_, std::move(request))).error().code(),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace caisson
