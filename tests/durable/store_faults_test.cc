// Every statement of the store fails once, while runs start, wait for a person, sleep, continue,
// are denied or cancelled, expire, have a key, a standing grant or files: with a full disk, an I/O
// error, a busy database, a connection lost before or after the statement. No run is lost, each
// effect happens once, and nothing is left behind.
//
// Without CAISSON_ALL_FAULTS each statement fails in one of these ways; with it, in each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>

#include "tests/durable/replica.h"
#include "tests/store/backend.h"
#include "tests/store/faulty_connection.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr int kRounds = 40;  // Rounds of tending, each later than any setback or lease.

// One run of a fresh owner, and everything that a client and a person do with it. They retry what
// the store could not do.
class Life {
 public:
  Life(TestLoop& loop, Store& store, ManualClock& clock, FaultPlan& plan, IsolationKey owner)
      : loop_(loop), store_(store), clock_(clock), plan_(plan), owner_(std::move(owner)) {}

  std::unique_ptr<Replica> Make(std::chrono::nanoseconds keep_parked = 1h) {
    return std::make_unique<Replica>(loop_, store_, keys_, clock_, setting_,
                                     RunSettings{.keep_parked = keep_parked,
                                                 .pace = {.first = 1ms, .longest = 4ms},
                                                 .lease = 100ms,
                                                 .poll = 10ms},
                                     DeskOptions{});
  }
  static FakeScript Script() {
    return {.steps = {FakeOutput{.text = "a"}, FakeCall{.tool = "read"}, FakeCall{.tool = "put"},
                      FakeCall{.tool = "send"}, FakeOutput{.text = "b"}},
            .outcome = {.status = RunStatus::kCompleted, .reason = RunReason::kReturned}};
  }

  RunView Start(Replica& replica, RunSpec request = {.code = "code"},
                const FakeScript& script = Script()) {
    return Again<RunView>([&] {
      replica.engine().Push(script);
      const auto before = effects_;
      auto view = loop_.Await(replica.runs().Start(owner_, request));
      if (!view) EXPECT_EQ(effects_, before) << "told that it did not start";
      return view;
    });
  }
  // Starts a run as a client with a key does: if the answer is an error, it looks for its run, and
  // sends the same request again.
  RunId StartWithKey(Replica& replica) {
    const RunKey key{
        .id = IdempotencyKey("k"), .fingerprint = "f", .expires_at = clock_.Now() + 24h};
    return Again<RunId>([&]() -> Result<RunId> {
      replica.engine().Push(Script());
      auto view = loop_.Await(replica.runs().Start(owner_, {.code = "code", .key = key}));
      if (view) return view->id;
      auto found = FindByKey(replica);
      if (found) return found->run;
      EXPECT_EQ(found.error().code() == ErrorCode::kNotFound, IsStoreFailure(view.error()));
      return std::move(view).error();
    });
  }
  Result<KeyedRun> FindByKey(Replica& replica) {
    return loop_.Await(replica.runs().FindByKey(owner_, IdempotencyKey("k")));
  }
  // Starts a run and returns before it has ended or waits.
  RunId StartDetached(Replica& replica, const FakeScript& script) {
    return Again<RunView>([&] {
             replica.engine().Push(script);
             return loop_.Await(replica.runs().StartDetached(owner_, {.code = "code"}));
           })
        .id;
  }
  // Waits until the replica's run has left its cell, without asking the store.
  void AwaitAsleep(Replica& replica) {
    loop_.Until([&] { return replica.engine().stats().runs_ended == 1; });
  }
  RunView Find(Replica& replica, const RunId& id) {
    return Again<RunView>([&] { return loop_.Await(replica.runs().Find(owner_, id)); });
  }
  void Decide(Replica& replica, const RunView& view,
              ApprovalState verdict = ApprovalState::kApproved,
              std::optional<StandingYes> standing = std::nullopt) {
    Again<StoredApproval>([&] {
      return loop_.Await(
          replica.runs().Decide(owner_, ApprovalId(view.outcome.approvals.at(0).id),
                                {.verdict = verdict, .by = "ann", .standing = standing}));
    });
  }
  std::string File(Replica& replica, const RunId& id, std::uint32_t number) {
    return Again<std::string>([&] { return loop_.Await(replica.runs().File(owner_, id, number)); });
  }
  ApprovalState StateOf(const std::string& approval) {
    return Again<StoredApproval>(
               [&] { return loop_.Await(store_.approvals().Find(owner_, ApprovalId(approval))); })
        .state;
  }
  void Advance(std::chrono::seconds time) { clock_.Advance(time); }
  SystemTime Now() const { return clock_.Now(); }
  void Cancel(Replica& replica, const RunId& id) {
    Again<RunView>([&] {
      auto view = loop_.Await(replica.runs().Cancel(owner_, id));
      // Recorded in the store, because the run could not be released when it fell asleep.
      const bool noted = !view && view.error().code() == ErrorCode::kDeadlineExceeded;
      return noted ? RunView{.id = id} : std::move(view);
    });
  }
  // Waits until it is in that state.
  void Await(Replica& replica, const RunId& id, RunState state) {
    for (int i = 0; i < kRounds; ++i) {
      loop_.Await(replica.runs().TendOnce());
      const auto deadline = std::chrono::steady_clock::now() + 10ms;
      loop_.Until([&] {
        const auto view = loop_.Await(replica.runs().Find(owner_, id));
        return (view && view->state == state) || std::chrono::steady_clock::now() > deadline;
      });
      const auto view = loop_.Await(replica.runs().Find(owner_, id));
      if (view && view->state == state) return;
      clock_.Advance(20s);
    }
    throw std::runtime_error("the run does not become " + std::string(ToString(state)));
  }
  Outcome Ended(Replica& replica, const RunId& id) {
    Await(replica, id, RunState::kFinished);
    return Find(replica, id).outcome;
  }

  // Checks the rows that are left once the run has ended.
  void ExpectNothingLeft(const RunId& id, std::size_t runs_made = 1) {
    statements_ = plan_.statements();
    plan_.Stop();
    const auto runs = loop_.Await(store_.runs().List(owner_, {}, {}));
    ASSERT_TRUE(runs);
    EXPECT_EQ(runs->items.size(), runs_made);
    EXPECT_EQ(loop_.Await(store_.runs().LoadSaved(owner_, id)).error().code(),
              ErrorCode::kNotFound);
    const auto usage = loop_.Await(store_.runs().Usage(owner_));
    EXPECT_EQ(usage->waiting_runs, 0u);
    const auto approvals =
        loop_.Await(store_.approvals().List(owner_, ApprovalState::kPending, {}));
    EXPECT_THAT(approvals->items, IsEmpty());
    // A repeated operation may be in its last pause.
    loop_.Until([&] { return store_.health().waiting() == 0; });
    const auto resumable = loop_.Await(store_.maintenance().ResumableRuns(clock_.Now() + 1h, 1000));
    for (const OwnedRun& each : *resumable) EXPECT_NE(each.owner, owner_);
  }

  std::map<std::string, int>& effects() { return effects_; }
  int statements() const { return statements_; }

 private:
  template <typename T>
  T Again(const std::function<Result<T>()>& attempt) {
    for (int i = 0; i < 3; ++i) {
      auto result = attempt();
      if (result) return *std::move(result);
      EXPECT_TRUE(IsStoreFailure(result.error())) << result.error().message();
      clock_.Advance(20s);
    }
    throw std::runtime_error("it fails again and again");
  }
  std::shared_ptr<const Tool> Counting(std::string name, Approval approval, Repeat repeat) {
    return *Tool::Make({.name = name, .approval = std::move(approval), .repeat = repeat},
                       Inline([this, name](const Dict&) {
                         ++effects_[name];
                         return Value(std::int64_t{1});
                       }));
  }
  std::shared_ptr<const CodeSetting> Setting() {
    CodeSetting setting;
    setting.tools = std::make_shared<const ToolSet>(
        std::vector{Counting("read", {}, Repeat::kUnsafe), Counting("put", {}, Repeat::kIdempotent),
                    Counting("send", Approval::Always(), Repeat::kUnsafe)});
    return std::make_shared<const CodeSetting>(std::move(setting));
  }

  TestLoop& loop_;
  Store& store_;
  ManualClock& clock_;
  FaultPlan& plan_;
  int statements_ = 0;
  const IsolationKey owner_;
  const KeyRing keys_ = KeyRing::Generate();
  std::map<std::string, int> effects_;
  const std::shared_ptr<const CodeSetting> setting_ = Setting();
};

void ExpectCompleted(Life& life, const Outcome& outcome) {
  EXPECT_EQ(outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(outcome.stdout_text, "ab");
  for (const OutcomeCall& call : outcome.calls) EXPECT_EQ(call.outcome, "returned") << call.tool;
  EXPECT_THAT(life.effects(), ElementsAre(Pair("put", 1), Pair("read", 1), Pair("send", 1)));
}

struct Scenario {
  const char* name;
  void (*play)(Life& life);
};

// Decided while it waits in memory.
void Parked(Life& life) {
  auto here = life.Make();
  const RunView view = life.Start(*here);
  life.Decide(*here, view);
  ExpectCompleted(life, life.Ended(*here, view.id));
  life.ExpectNothingLeft(view.id);
}

// Decided while it is saved, and resumed from the store.
void Asleep(Life& life) {
  auto here = life.Make(0ns);
  const RunView view = life.Start(*here);
  life.Await(*here, view.id, RunState::kWaiting);
  life.Decide(*here, view);
  ExpectCompleted(life, life.Ended(*here, view.id));
  life.ExpectNothingLeft(view.id);
}

// Its process is gone; another one continues.
void Elsewhere(Life& life) {
  auto here = life.Make(0ns);
  const RunView view = life.Start(*here);
  life.Await(*here, view.id, RunState::kWaiting);
  auto there = life.Make();
  there->engine().AdoptSaved(here->engine());
  here.reset();
  life.Decide(*there, view);
  ExpectCompleted(life, life.Ended(*there, view.id));
  life.ExpectNothingLeft(view.id);
}

void Denied(Life& life) {
  auto here = life.Make();
  const RunView view = life.Start(*here);
  life.Decide(*here, view, ApprovalState::kDenied);
  const Outcome outcome = life.Ended(*here, view.id);
  EXPECT_EQ(outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(outcome.calls.back().outcome, "denied");
  EXPECT_THAT(life.effects(), ElementsAre(Pair("put", 1), Pair("read", 1)));
  life.ExpectNothingLeft(view.id);
}

void Cancelled(Life& life) {
  auto here = life.Make(0ns);
  const RunView view = life.Start(*here);
  life.Cancel(*here, view.id);
  EXPECT_EQ(life.Ended(*here, view.id).status, RunStatus::kCancelled);
  EXPECT_THAT(life.effects(), ElementsAre(Pair("put", 1), Pair("read", 1)));
  life.ExpectNothingLeft(view.id);
}

// The code sleeps for long between two calls; the timer is in the store.
void Sleeping(Life& life) {
  auto here = life.Make(0ns);
  FakeScript script = Life::Script();
  script.steps.insert(script.steps.begin() + 2, FakeSleep{.until = life.Now() + 5s});
  const RunId id = life.StartDetached(*here, script);
  life.AwaitAsleep(*here);
  EXPECT_THAT(life.effects(), ElementsAre(Pair("read", 1)));
  life.Advance(10s);
  life.Await(*here, id, RunState::kWaiting);
  life.Decide(*here, life.Find(*here, id));
  ExpectCompleted(life, life.Ended(*here, id));
  life.ExpectNothingLeft(id);
}

// The client has an Idempotency-Key and sends its request until it knows its run.
void Keyed(Life& life) {
  auto here = life.Make();
  const RunId id = life.StartWithKey(*here);
  life.Await(*here, id, RunState::kWaiting);
  life.Decide(*here, life.Find(*here, id));
  ExpectCompleted(life, life.Ended(*here, id));
  life.ExpectNothingLeft(id);
  EXPECT_EQ(life.FindByKey(*here)->run, id);
}

// A yes for the session: the next run in it asks nobody.
void Granted(Life& life) {
  auto here = life.Make();
  const RunSpec request{.code = "code", .session = "s"};
  const RunView first = life.Start(*here, request);
  life.Decide(*here, first, ApprovalState::kApproved,
              StandingYes{.scope = StandingYes::Scope::kSession,
                          .arguments = StandingYes::Arguments::kAny});
  ExpectCompleted(life, life.Ended(*here, first.id));
  const RunView second = life.Start(*here, request);
  EXPECT_EQ(second.outcome.status, RunStatus::kCompleted);
  EXPECT_THAT(life.effects(), ElementsAre(Pair("put", 2), Pair("read", 2), Pair("send", 2)));
  life.Await(*here, second.id, RunState::kFinished);
  life.ExpectNothingLeft(second.id, 2);
}

// Nobody decides in time.
void Expired(Life& life) {
  auto here = life.Make();
  const RunView view = life.Start(*here);
  life.Advance(std::chrono::days(8));
  const Outcome outcome = life.Ended(*here, view.id);
  EXPECT_EQ(outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(outcome.calls.back().outcome, "denied");
  EXPECT_EQ(life.StateOf(view.outcome.approvals.at(0).id), ApprovalState::kExpired);
  EXPECT_THAT(life.effects(), ElementsAre(Pair("put", 1), Pair("read", 1)));
  life.ExpectNothingLeft(view.id);
}

// The run leaves files, which another process shows.
void LeavesFiles(Life& life) {
  auto here = life.Make();
  FakeScript script = Life::Script();
  script.outcome.files = {{.path = "/output/a", .change = "created", .size = 3, .contents = "abc"},
                          {.path = "/output/b",
                           .change = "created",
                           .size = 100'000,
                           .contents = std::string(100'000, 'b')}};
  const RunView view = life.Start(*here, {.code = "code"}, script);
  life.Decide(*here, view);
  ExpectCompleted(life, life.Ended(*here, view.id));
  here = life.Make();
  EXPECT_EQ(life.File(*here, view.id, 0), "abc");
  EXPECT_EQ(life.File(*here, view.id, 1), std::string(100'000, 'b'));
  EXPECT_EQ(life.Find(*here, view.id).outcome.files.size(), 2u);
  life.ExpectNothingLeft(view.id);
}

constexpr Scenario kScenarios[] = {{"Parked", Parked},       {"Asleep", Asleep},
                                   {"Elsewhere", Elsewhere}, {"Denied", Denied},
                                   {"Cancelled", Cancelled}, {"Sleeping", Sleeping},
                                   {"Keyed", Keyed},         {"Granted", Granted},
                                   {"Expired", Expired},     {"LeavesFiles", LeavesFiles}};

class StoreFaultsTest : public testing::TestWithParam<std::tuple<BackendKind, Scenario>> {
 protected:
  // Returns the number of statements.
  int Play(int failing, Fault fault) {
    Life life(loop_, *store_, clock_, *plan_,
              OwnerNamed(("owner" + std::to_string(++lives_)).c_str()));
    plan_->Fail(failing, fault);
    std::get<1>(GetParam()).play(life);
    return life.statements();
  }

  TestLoop loop_;
  ManualClock clock_;
  const std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  const std::unique_ptr<Backend> backend_ = MakeBackend(std::get<0>(GetParam()));
  const std::unique_ptr<Store> store_ = OpenFaulty(*backend_, plan_);
  int lives_ = 0;
};

TEST_P(StoreFaultsTest, EveryStatementFailsOnce) {
  const bool all = std::getenv("CAISSON_ALL_FAULTS") != nullptr;
  const int statements = Play(0, Fault::kFull);
  ASSERT_GT(statements, 30);
  for (int number = 1; number <= statements; ++number) {
    for (std::size_t i = 0; i < std::size(kAllFaults); ++i) {
      if (!all && i != static_cast<std::size_t>(number) % std::size(kAllFaults)) continue;
      SCOPED_TRACE("statement " + std::to_string(number) + " of " + std::to_string(statements) +
                   " fails: " + ToString(kAllFaults[i]));
      Play(number, kAllFaults[i]);
      if (HasFailure()) return;
    }
  }
}

// Two replicas claim a run in turn, and the store fails as soon as they have it: reading the run
// fails, and giving it back too. No host died, so these are no attempts.
class ClaimFaultsTest : public testing::TestWithParam<BackendKind> {};

TEST_P(ClaimFaultsTest, AStoreThatFailsAfterEveryClaimCostsNoAttempt) {
  TestLoop loop;
  ManualClock clock;
  const auto plan = std::make_shared<FaultPlan>();
  const auto backend = MakeBackend(GetParam());
  const auto store = OpenFaulty(*backend, plan);
  const IsolationKey owner = OwnerNamed("ann");
  Life life(loop, *store, clock, *plan, owner);
  auto here = life.Make(0ns);
  const RunView view = life.Start(*here);
  life.Await(*here, view.id, RunState::kWaiting);
  const auto one = life.Make();
  const auto other = life.Make();
  for (Replica* each : {one.get(), other.get()}) each->engine().AdoptSaved(here->engine());
  here.reset();
  ASSERT_TRUE(loop.Await(store->approvals().Decide(
      owner, ApprovalId(view.outcome.approvals.at(0).id),
      {.verdict = ApprovalState::kApproved, .by = "ann", .at = life.Now()})));
  const std::string reading[] = {"o.outcome", "updated_at, trace,", "wake_at FROM saved_runs",
                                 "SET state = 'uncertain'"};
  for (int i = 0; i < 12; ++i) {
    plan->FailFrom(reading[i % 4], Fault::kIo);
    loop.Await((i % 2 == 0 ? one : other)->runs().TendOnce());
    EXPECT_NE(plan->failed(), "") << "round " << i << ": nobody has claimed the run";
    plan->Stop();
    life.Advance(20s);
  }
  EXPECT_LE(loop.Await(store->runs().Find(owner, view.id))->attempts, 1u);
  ExpectCompleted(life, life.Ended(*one, view.id));
}

INSTANTIATE_TEST_SUITE_P(Over, ClaimFaultsTest,
                         testing::Values(BackendKind::kSqlite, BackendKind::kPostgres),
                         [](const auto& info) { return ToString(info.param); });

INSTANTIATE_TEST_SUITE_P(Over, StoreFaultsTest,
                         testing::Combine(testing::Values(BackendKind::kSqlite,
                                                          BackendKind::kPostgres),
                                          testing::ValuesIn(kScenarios)),
                         [](const auto& info) {
                           return ToString(std::get<0>(info.param)) + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace caisson
