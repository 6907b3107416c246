// A Host is Caisson without its doors: the store and keys of a configuration, the engine, the tools
// and the runs. `caisson serve`, `caisson mcp`, `caisson run` and `caisson runs resume` open one.
//
//   auto host = *Host::Open({.config = config, .code = FromConfig(config), .executor = executor});
//   co_await host->runs().Start(owner, {.code = "send(to='ann')"});
//   co_await host->runs().Close();
//
// Trust     The operator's configuration.
// Threads   Open and the destructor block. The parts can be used from any thread.
// Lifetime  The executor outlives it. runs().Close() must have returned before it is destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "runs/journaled_runs.h"
#include "server/code_service.h"
#include "server/host_state.h"

namespace caisson {

struct HostOptions {
  const Config& config;
  CodeServiceOptions code{};
  std::unique_ptr<CodeService> opened{};  // Used instead of opening `code`, if it is not null.
  const EnvironmentMap& environment;      // Has the secrets of the configuration.
  asio::any_io_executor executor;         // Runs that may wait use it.
  std::function<void(std::string_view)> on_audit_failure{};
};

class Host {
 public:
  // Fails like HostState::Open and CodeService::Open.
  static Result<std::unique_ptr<Host>> Open(HostOptions options);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  HostState& state() { return *state_; }
  CodeService& code() { return *code_; }
  JournaledRuns& runs() { return runs_; }

 private:
  Host(std::unique_ptr<HostState> state, std::unique_ptr<CodeService> code,
       asio::any_io_executor executor);

  const std::unique_ptr<HostState> state_;
  const std::unique_ptr<CodeService> code_;
  JournaledRuns runs_;
};

}  // namespace caisson
