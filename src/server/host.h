// A Host is Caisson without its doors: the store and keys of a configuration, the engine, the
// tools, the runs and the agents. Every command that runs code and every server opens one, and so
// does a program that links libcaisson:
//
//   auto host = *Host::Open(
//       {.code = {.setting = {.tools = tools}}, .keeps = HostOptions::Keeps::kNothing});
//   auto run = host->Run("add(1, 2)");                            // run->outcome.result
//   co_await host->runs().Start(owner, {.code = "send(to='ann')"});
//
// Trust     The operator's configuration.
// Threads   Open, Run and the destructor block: do not call them on an executor that serves others.
//           Use what it holds from any thread.
// Lifetime  Owns everything. With an executor of the caller, that outlives it, and Close() must
//           have returned before it is destroyed. Otherwise the destructor cancels what runs and
//           returns when no process, thread or descriptor is left.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent.h"
#include "agent/stored_turns.h"
#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "runs/journaled_runs.h"
#include "server/background_loop.h"
#include "server/code_service.h"
#include "server/host_state.h"

namespace caisson {

struct HostOptions {
  enum class Keeps {
    kAll,             // Runs are stored as the configuration says.
    kRunsThatMayAsk,  // Only if a tool may need an approval; otherwise kNothing.
    kNothing,         // Runs are in memory and gone with this process.
  };

  // kRuns: the models of the configuration are not needed, and turns() has no agents.
  enum class Serves { kRuns, kRunsAndAgents };

  Config config{};
  CodeServiceOptions code{};
  EnvironmentMap environment{};  // Has the secrets that the configuration names.
  // Runs that may wait live here. nullopt: on a thread of the host.
  std::optional<asio::any_io_executor> executor{};
  std::function<void(std::string_view)> on_audit_failure{};
  Keeps keeps = Keeps::kAll;
  Serves serves = Serves::kRuns;
  // Agents of a C++ program, besides those of the configuration.
  std::vector<std::shared_ptr<const Agent>> agents{};
};

class Host {
 public:
  // Fails like HostState::Open and CodeService::Open.
  static Result<std::unique_ptr<Host>> Open(HostOptions options);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host();

  HostState& state() { return *state_; }
  CodeService& code() { return *code_; }
  JournaledRuns& runs() { return runs_; }
  StoredTurns& turns() { return turns_; }
  // Whether runs outlive this process.
  bool keeps_runs() const { return state_->keeps_runs(); }

  // One run of the local user, whose calls that need approval are denied.
  Result<CodeRun> Run(std::string code);

  // Begins to look after the runs and turns that others left in the store, until Close().
  void Tend();
  // Ends or parks all turns, then all runs. Can be called any number of times.
  asio::awaitable<void> Close();

 private:
  using Agents = std::vector<std::shared_ptr<const Agent>>;

  Host(std::unique_ptr<BackgroundLoop> loop, std::unique_ptr<HostState> state,
       std::unique_ptr<CodeService> code, Agents agents, asio::any_io_executor executor);

  const std::unique_ptr<BackgroundLoop> loop_;  // Null if the caller has an executor.
  const std::unique_ptr<HostState> state_;
  const std::unique_ptr<CodeService> code_;
  JournaledRuns runs_;
  StoredTurns turns_;  // Closed before the runs.
};

}  // namespace caisson
