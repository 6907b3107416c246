// Every statement of the store fails once, while runs start, wait for a person, sleep, continue,
// are denied or cancelled: with a full disk, an I/O error, a busy database, a connection lost
// before or after the statement. No run is lost, each effect happens once, and nothing is left
// behind.
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

  RunView Start(Replica& replica, RunSpec request = {.code = "code"}) {
    return Again<RunView>([&] {
      replica.engine().Push(Script());
      auto view = loop_.Await(replica.runs().Start(owner_, request));
      if (!view) EXPECT_THAT(effects_, IsEmpty()) << "told that it did not start";
      return view;
    });
  }
  void Decide(Replica& replica, const RunView& view,
              ApprovalState verdict = ApprovalState::kApproved) {
    Again<StoredApproval>([&] {
      return loop_.Await(replica.runs().Decide(owner_, ApprovalId(view.outcome.approvals.at(0).id),
                                               {.verdict = verdict, .by = "ann"}));
    });
  }
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
    return Again<RunView>([&] { return loop_.Await(replica.runs().Find(owner_, id)); }).outcome;
  }

  // Checks the rows that are left once the run has ended.
  void ExpectNothingLeft(const RunId& id) {
    statements_ = plan_.statements();
    plan_.Stop();
    const auto runs = loop_.Await(store_.runs().List(owner_, {}, {}));
    ASSERT_TRUE(runs);
    EXPECT_EQ(runs->items.size(), 1u);
    EXPECT_EQ(loop_.Await(store_.runs().LoadSaved(owner_, id)).error().code(),
              ErrorCode::kNotFound);
    const auto usage = loop_.Await(store_.runs().Usage(owner_));
    EXPECT_EQ(usage->waiting_runs, 0u);
    const auto approvals =
        loop_.Await(store_.approvals().List(owner_, ApprovalState::kPending, {}));
    EXPECT_THAT(approvals->items, IsEmpty());
    EXPECT_EQ(store_.health().waiting(), 0u);
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

constexpr Scenario kScenarios[] = {{"Parked", Parked},
                                   {"Asleep", Asleep},
                                   {"Elsewhere", Elsewhere},
                                   {"Denied", Denied},
                                   {"Cancelled", Cancelled}};

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

INSTANTIATE_TEST_SUITE_P(Over, StoreFaultsTest,
                         testing::Combine(testing::Values(BackendKind::kSqlite,
                                                          BackendKind::kPostgres),
                                          testing::ValuesIn(kScenarios)),
                         [](const auto& info) {
                           return ToString(std::get<0>(info.param)) + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace caisson
