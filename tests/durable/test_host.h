// A Host is one complete process that runs code durably: engine, runner, desk, runs, and a thread
// for the periodic work.
//
// Trust     For tests.
// Threads   One test thread.
// Lifetime  Closes its parts; the store is shared with other Hosts of the test.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "approval/desk.h"
#include "approval/key_ring.h"
#include "base/spawn.h"
#include "runs/journaled_runs.h"
#include "store/store.h"

namespace caisson::testing {

inline constexpr std::chrono::seconds kPatience{60};  // A test that waits longer hangs.

class Host {
 public:
  Host(std::unique_ptr<Engine> engine, std::shared_ptr<Store> store, const KeyRing& keys,
       std::shared_ptr<const CodeSetting> setting, RunSettings settings = {},
       std::map<std::string, SettingSource> named = {}, CallerHost* caller_host = nullptr)
      : engine_(std::move(engine)),
        store_(std::move(store)),
        desk_(*store_, notifier_, clock_),
        runner_(*engine_),
        runs_({.engine = *engine_,
               .runner = runner_,
               .store = *store_,
               .desk = desk_,
               .notifier = notifier_,
               .keys = keys,
               .executor = context_.get_executor(),
               .setting = std::move(setting),
               .named_settings = std::move(named),
               .caller_host = caller_host,
               .settings = settings}),
        thread_([this] { context_.run(); }) {}
  ~Host() {
    Now(runs_.Close());
    Now(runner_.Close());
    work_.reset();
    thread_.join();
  }

  JournaledRuns& runs() { return runs_; }
  Engine& engine() { return *engine_; }
  Store& store() { return *store_; }
  asio::any_io_executor executor() { return context_.get_executor(); }

  template <typename T>
  T Now(asio::awaitable<T> work) {
    std::promise<T> promise;
    auto future = promise.get_future();
    const auto keep = [&]() -> asio::awaitable<void> {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(work);
        promise.set_value();
      } else {
        promise.set_value(co_await std::move(work));
      }
    };
    Spawn(context_.get_executor(), keep);
    if (future.wait_for(kPatience) != std::future_status::ready) std::terminate();
    return future.get();
  }

  RunView Start(const IsolationKey& owner, RunSpec request) {
    return Seen(Now(runs_.Start(owner, std::move(request))));
  }
  // Waits until it has finished, or has a new request.
  RunView Await(const IsolationKey& owner, const RunId& id) {
    return Seen(
        Now(runs_.Await(owner, id, seen_, std::chrono::steady_clock::now() + kPatience / 2)));
  }
  Result<StoredApproval> Decide(const IsolationKey& owner, const std::string& id,
                                ApprovalState verdict = ApprovalState::kApproved) {
    return Now(runs_.Decide(owner, ApprovalId(id), {.verdict = verdict, .by = "ann"}));
  }

 private:
  RunView Seen(Result<RunView> view) {
    if (!view) throw std::runtime_error(view.error().message());
    seen_.merge(ApprovalIds(*view));
    return *std::move(view);
  }

  std::set<std::string> seen_;  // Approvals of any run.
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  const std::unique_ptr<Engine> engine_;
  const std::shared_ptr<Store> store_;
  const SystemClock clock_{};
  DecisionNotifier notifier_;
  ApprovalDesk desk_;
  CodeRunner runner_;
  JournaledRuns runs_;
  std::thread thread_;
};

}  // namespace caisson::testing
