// A CodeService has what is needed to run code in this process: an engine, the threads that wait
// for disks and programs, the configured tools, and the runner on top. A Host opens one and adds
// the runs.
//
// Trust     Options are the operator's.
// Threads   Open and the destructor block: do not call them on an executor that serves others.
//           runner() from any thread.
// Lifetime  Owns everything. The destructor cancels what runs and returns when no process, thread
//           or descriptor is left.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/low_priority_pool.h"
#include "base/notifier.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "runs/cells/code_runner.h"
#include "runs/setting_source.h"
#include "server/backends.h"
#include "server/offered_setting.h"

namespace caisson {

namespace jail {
class ProgramStarter;
}

struct CodeServiceOptions {
  BackendOptions backend{};
  CodeSetting setting{};
  std::vector<ToolConfig> tools{};          // Offered after the tools of the setting.
  std::vector<UpstreamConfig> upstreams{};  // Their tools come after `tools`.
  std::vector<AgentConfig> agents{};        // Their runs have settings of their own.
  std::string tools_directory{};            // Base of the relative paths of all these.
  SessionOptions sessions{};
  CellRegistryOptions cells{};
  std::vector<std::string> hidden{};                 // See CodeRunnerOptions.
  std::function<void(std::string_view text)> log{};  // Stderr of commands.
};

// Relative paths are relative to `directory`, the directory of the configuration file.
workspace::MountSpec ToMountSpec(const MountConfig& mount, const std::string& directory);

// Returns the options that a configuration states. Limits and mounts are checked when they are
// used.
CodeServiceOptions FromConfig(const Config& config);

class CodeService {
 public:
  static Result<std::unique_ptr<CodeService>> Open(CodeServiceOptions options);
  CodeService(const CodeService&) = delete;
  CodeService& operator=(const CodeService&) = delete;
  ~CodeService();

  Engine& engine() { return *engine_; }
  CodeRunner& runner() { return *runner_; }
  CallerHost& caller_host() { return caller_host_; }
  // Returns the setting with all tools that a caller has now, including the configured ones. null:
  // without a caller.
  std::shared_ptr<const CodeSetting> SettingFor(const CallerContext* caller) const {
    return setting_->For(caller);
  }
  std::shared_ptr<const CodeSetting> setting() const { return SettingFor(nullptr); }
  SettingSource settings() const { return SourceOf(*setting_); }
  // The settings of the agents, by the names of server/agent_settings.h.
  std::map<std::string, SettingSource> named_settings() const;

  // For work that waits for disks or the network's names. It lives as long as the service.
  asio::any_io_executor pool() { return pool_.executor(); }
  // Large messages are parsed on this executor. It lives as long as the service.
  asio::any_io_executor cpu_pool() { return cpu_pool_.executor(); }

 private:
  static constexpr int kPoolNice = 5;

  explicit CodeService(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
  // Makes the configured tools and connects to the upstreams.
  Result<void> MakeSettings(CodeServiceOptions& options,
                            std::shared_ptr<jail::ProgramStarter> starter);
  SettingSource SourceOf(const OfferedSetting& setting) const;

  CallerHost caller_host_{CaptureEnvironment()};
  mutable Notifier<> tools_changed_;  // Notified by upstreams.
  const std::unique_ptr<Engine> engine_;
  // Destroyed before the engine, whose cells they answer.
  LowPriorityPool pool_{"caisson-pool", 2, kPoolNice};
  LowPriorityPool cpu_pool_{"caisson-cpu", 2, 10};
  std::map<std::string, std::shared_ptr<Upstream>> upstreams_;  // Shared with their tools.
  std::shared_ptr<const OfferedSetting> setting_;
  std::map<std::string, std::shared_ptr<const OfferedSetting>> agent_settings_;
  std::unique_ptr<CodeRunner> runner_;
};

}  // namespace caisson
