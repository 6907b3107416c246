// A CodeRunner executes runs in cells: it checks a run, gets a cell for it, answers its calls and
// returns its outcome. All runs of a RunService go through one.
//
//   CodeRunner runner(engine);
//   auto run = co_await runner.Run({.owner = owner, .code = "add(1, 2)", .setting = setting});
//   co_await runner.Close();
//
// Trust     Code is hostile, names and limits are the client's. A run leaves nothing behind, or a
//           session of its own owner.
// Threads   Any. Output, traces and inline tools are called on the executor of the run's cell and
//           must not block.
// Lifetime  The engine outlives it. Close() must have returned before it is destroyed. The
//           executors that await its coroutines outlive the engine, whose threads resume them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "base/spawn.h"
#include "engine/engine.h"
#include "policy/policy.h"
#include "runs/cells/cell_registry.h"
#include "runs/cells/direct_cell.h"
#include "runs/cells/resume_state.h"
#include "runs/cells/session_registry.h"
#include "runs/cells/shutdown_gate.h"
#include "tools/bridge.h"
#include "tools/registry.h"
#include "tools/tool.h"
#include "workspace/mount.h"

namespace caisson {

// The tools, limits, policy and files that code runs with. Runs share it, and it never changes.
struct CodeSetting {
  std::shared_ptr<const ToolSet> tools = std::make_shared<const ToolSet>();
  Limits limits{};                    // Defaults of a run.
  Limits ceiling = DefaultCeiling();  // The maximum that a run can ask for.
  Policy policy{};
  // Packages of the engine, for the descriptions that models read. Shared by the settings.
  std::shared_ptr<const std::vector<std::string>> packages{};
  std::vector<workspace::MountSpec> mounts{};
  std::vector<InputFile> files{};
  // The whole os.environ of the code. Shared with the runs.
  std::shared_ptr<const std::map<std::string, std::string>> environment =
      std::make_shared<const std::map<std::string, std::string>>();
};

struct CodeRunnerOptions {
  SessionOptions sessions{};
  CellRegistryOptions cells{};
  // Threads that may wait for the disk, for runs with mounts. They end before the engine does.
  std::optional<asio::any_io_executor> pool{};
  // Threads that compute for long: they read the large calls of runs. They end before the engine
  //         does.
  std::optional<asio::any_io_executor> cpu_pool{};
  std::vector<std::string> hidden{};  // Directories that no mount may show, such as the store's.
};

struct SessionRequest {
  std::string name;
  Restart restart = Restart::kNo;
  // The session is new and begins as a copy of this one, which has run with the same setting.
  std::optional<std::string> fork_of{};
};

struct CellRun {
  OwnerId owner;
  std::string code;
  std::optional<DirectCall> call{};  // Instead of code. Not in a session.
  std::shared_ptr<const CodeSetting> setting = std::make_shared<const CodeSetting>();
  std::optional<Limits> limits{};  // nullopt: the setting's.
  Purpose purpose = Purpose::kRun;
  std::optional<SessionRequest> session{};
  // kGiven: all calls are approved beforehand. kNone: calls that need approval are denied, unless
  // `resume` has a journal that asks.
  Consent consent = Consent::kNone;
  std::chrono::nanoseconds wait = std::chrono::seconds(30);  // Maximum wait for a cell.
  std::function<void(OutputStream, std::string_view)> on_output{};
  OnToolProgress on_progress{};
  ToolRun::Trace trace{};
  std::shared_ptr<const CallerContext> caller{};  // The caller that its tools act for.
  std::vector<InputFile> inputs{};                // Besides the files of the setting.
  std::optional<ResumeState> resume{};            // For a run that may wait for a decision.
};

// The fate of the session that a run was in.
enum class SessionFate { kNone, kKept, kLost };

struct CodeRun {
  Outcome outcome;
  SessionFate session = SessionFate::kNone;
};

class CodeRunner {
 public:
  explicit CodeRunner(Engine& engine, CodeRunnerOptions options = {})
      : engine_(engine),
        options_(std::move(options)),
        sessions_(engine, options_.sessions),
        cells_(engine, options_.cells) {}
  CodeRunner(const CodeRunner&) = delete;
  CodeRunner& operator=(const CodeRunner&) = delete;

  // The outcome says how the code ended, also if it was refused, cancelled, or not executed because
  // its session is lost (kLost). Fails if the code could not be run: limits or names are wrong,
  // there was no cell within `wait`, the boundary is not available, or Close() was called.
  asio::awaitable<Result<CodeRun>> Run(CellRun request);

  SessionRegistry& sessions() { return sessions_; }
  CellRegistry& cells() { return cells_; }
  const std::optional<asio::any_io_executor>& cpu_pool() const { return options_.cpu_pool; }

  // Same as SessionRegistry::Fork. `setting` is the one that the session has used.
  asio::awaitable<Result<void>> Fork(SessionKey from, std::string to,
                                     std::shared_ptr<const CodeSetting> setting);

  // Refuses new runs, cancels current ones, and returns when all runs, sessions and prepared cells
  // are gone. Can be called several times.
  asio::awaitable<void> Close();

 private:
  struct Running {
    bool closed = false;
    std::list<Stop> stops;
  };
  class Registration;

  asio::awaitable<Result<CodeRun>> RunUntilStopped(CellRun request);
  asio::awaitable<Result<CodeRun>> RunFresh(CellRun request);
  asio::awaitable<Result<CodeRun>> RunInSession(CellRun request);

  struct Opened {
    std::unique_ptr<Cell> cell;
    std::shared_ptr<HostFiles> host_files;  // Shared with the cell; may be null.
  };
  asio::awaitable<Result<Opened>> Open(const CellRun& request);
  asio::awaitable<Opened> OpenDirect(const CellRun& request);
  void Foresee(const Cell& cell, const CellRun& request, std::shared_ptr<HostFiles> host_files);
  asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(const CellRun& request,
                                                         OpenOptions options);
  asio::awaitable<Result<std::shared_ptr<HostFiles>>> OpenMounts(
      std::shared_ptr<const CodeSetting> setting);

  Engine& engine_;
  const CodeRunnerOptions options_;
  SessionRegistry sessions_;
  CellRegistry cells_;
  ShutdownGate gate_;
  Guarded<Running> running_;
};

// Returns the result of a run that was cancelled before it executed anything.
CodeRun CancelledRun();

// Returns the outcome of code that is refused for its length before it reaches a cell. `boundary`
// is the boundary that it would have had, if known.
Outcome RefusedForLength(const Limits& limits, Boundary boundary = {});

}  // namespace caisson
