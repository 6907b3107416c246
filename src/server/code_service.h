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

#include "base/guarded.h"
#include "base/low_priority_pool.h"
#include "base/notifier.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "runs/cells/code_runner.h"
#include "runs/setting_source.h"
#include "server/backends.h"

namespace caisson {

class Upstream;

struct CodeServiceOptions {
  BackendOptions backend{};
  CodeSetting setting{};
  std::vector<ToolConfig> tools{};          // Offered after the tools of the setting.
  std::vector<UpstreamConfig> upstreams{};  // Their tools come after `tools`.
  std::string tools_directory{};            // Base of their relative paths.
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
  std::shared_ptr<const CodeSetting> SettingFor(const CallerContext* caller) const;
  std::shared_ptr<const CodeSetting> setting() const { return SettingFor(nullptr); }
  SettingSource settings() const {
    return SettingSource([this](const CallerContext* caller) { return SettingFor(caller); },
                         upstreams_.empty() ? nullptr : &tools_changed_);
  }

  // Large messages are parsed on this executor. It lives as long as the service.
  asio::any_io_executor cpu_pool() { return cpu_pool_.executor(); }

 private:
  static constexpr int kPoolNice = 5;

  // Settings in use, by the tools that the upstreams offered.
  using SettingsByTools =
      std::map<std::vector<std::shared_ptr<const std::vector<std::shared_ptr<const Tool>>>>,
               std::shared_ptr<const CodeSetting>>;

  explicit CodeService(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  CallerHost caller_host_{CaptureEnvironment()};
  mutable Notifier<> tools_changed_;  // Notified by upstreams.
  const std::unique_ptr<Engine> engine_;
  // Destroyed before the engine, whose cells they answer.
  LowPriorityPool pool_{"caisson-pool", 2, kPoolNice};
  LowPriorityPool cpu_pool_{"caisson-cpu", 2, 10};
  std::vector<std::shared_ptr<Upstream>> upstreams_;  // Shared with their tools.
  std::shared_ptr<const CodeSetting> setting_;        // Without the tools of upstreams.
  mutable Guarded<SettingsByTools> settings_;
  std::unique_ptr<CodeRunner> runner_;
};

}  // namespace caisson
