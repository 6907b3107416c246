// JournaledRuns over an engine of scripts: one or more replicas over one store, on one event loop
// and a clock that the test moves.
//
// Trust     For tests.
// Threads   One.
// Lifetime  That of one test.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/spawn.h"
#include "base/testing/test_loop.h"
#include "engine/fake/fake_engine.h"
#include "runs/journaled_runs.h"
#include "store/sqlite/sqlite_store.h"

namespace caisson {

using namespace std::chrono_literals;

inline constexpr auto kPatience = 30s;  // A test that waits longer hangs.

inline FakeScript Script(std::vector<std::variant<FakeOutput, FakeCall, FakeSleep>> steps) {
  return {.steps = std::move(steps),
          .outcome = {.status = RunStatus::kCompleted, .reason = RunReason::kReturned}};
}

// The one event loop for everything, run by the waiting function.
// One process: its own engine and runner, over a shared store.
class Replica {
 public:
  Replica(TestLoop& loop, Store& store, const KeyRing& keys, const Clock& clock,
          std::shared_ptr<const CodeSetting> setting, RunSettings settings,
          DeskOptions desk_options)
      : loop_(loop),
        desk_(store, notifier_, clock, desk_options),
        engine_(loop.context().get_executor()),
        runner_(engine_),
        runs_({.engine = engine_,
               .runner = runner_,
               .store = store,
               .desk = desk_,
               .notifier = notifier_,
               .keys = keys,
               .executor = loop.context().get_executor(),
               .setting = std::move(setting),
               .clock = &clock,
               .settings = settings}) {}
  ~Replica() {
    loop_.Await(runs_.Close());
    loop_.Await(runner_.Close());
    EXPECT_EQ(engine_.stats().cells_live, 0u);
  }

  FakeEngine& engine() { return engine_; }
  JournaledRuns& runs() { return runs_; }
  ApprovalDesk& desk() { return desk_; }

 private:
  TestLoop& loop_;
  DecisionNotifier notifier_;
  ApprovalDesk desk_;
  FakeEngine engine_;
  CodeRunner runner_;
  JournaledRuns runs_;
};

class DurableRunsTest : public ::testing::Test {
 protected:
  DurableRunsTest() { here_ = Make(); }

  std::unique_ptr<Replica> Make(RunSettings settings = {}, DeskOptions desk = {}) {
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

  RunView Start(FakeScript script, RunSpec request = {.code = "code"}) {
    here_->engine().Push(std::move(script));
    auto view = loop_.Await(here_->runs().Start(ann_, std::move(request)));
    EXPECT_TRUE(view) << view.error().message();
    seen_.merge(ApprovalIds(*view));
    return *view;
  }
  Result<StoredApproval> Decide(Replica& replica, const std::string& id,
                                ApprovalState verdict = ApprovalState::kApproved) {
    return loop_.Await(
        replica.runs().Decide(ann_, ApprovalId(id), {.verdict = verdict, .by = "ann"}));
  }
  RunView Await(Replica& replica, const RunId& id) {
    auto view = loop_.Await(
        replica.runs().Await(ann_, id, seen_, std::chrono::steady_clock::now() + kPatience));
    seen_.merge(ApprovalIds(*view));
    return *view;
  }
  RunView Find(const RunId& id) { return *loop_.Await(here_->runs().Find(ann_, id)); }
  // Acts as if the process were gone: its lease expires, its memory does not count.
  void Elapse() { clock_.Advance(1min); }

  TestLoop loop_;
  ManualClock clock_;
  const std::unique_ptr<Store> store_ = *OpenMemoryStore();
  const KeyRing keys_ = KeyRing::Generate();
  const IsolationKey ann_{*Identity::Create({.user = "ann"})};
  const IsolationKey bob_{*Identity::Create({.user = "bob"})};
  std::set<std::string> seen_;  // Approvals that Start or Await has shown.
  std::vector<std::string> effects_;
  const std::shared_ptr<const CodeSetting> setting_ =
      Setting({Counting("send", Approval::Always()), Counting("read", {}),
               Counting("put", {}, Repeat::kIdempotent)});
  std::unique_ptr<Replica> here_;
};

}  // namespace caisson
