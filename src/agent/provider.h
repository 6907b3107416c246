// A CodeActProvider holds the tools, mounts and limits that an agent's code may use, and gives each
// agent run its own execute_code.
//
//   CodeActProvider provider(runner);
//   provider.AddTool(*send);
//   auto scope = *provider.BeginRun(owner);         // scope.tool, scope.instructions, scope.state
//
// A scope is a snapshot: later changes to the provider apply to later runs.
//
// Trust     Tools come from the operator. The serialisable state holds no secrets: it has the names
//           of environment variables without their values.
// Threads   Any.
// Lifetime  The runner outlives the provider and its scopes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/execute_code.h"
#include "agent/instructions.h"
#include "base/guarded.h"
#include "base/result.h"
#include "runs/cells/code_runner.h"
#include "tools/tool.h"

namespace caisson {

enum class ApprovalMode { kNeverRequire, kAlwaysRequire };
std::string_view ToString(ApprovalMode mode);

// When approval is asked for if code calls a tool that needs approval.
enum class Gating {
  kBundled,  // For execute_code as a whole, before it runs; covers all its calls.
  kPerCall,  // Never: calls that need approval are denied in the running code.
};

struct ProviderOptions {
  CodeSetting setting{};  // Its tools are the first tools of the provider.
  ApprovalMode approval = ApprovalMode::kNeverRequire;  // Of execute_code, besides its tools'.
  Gating gating = Gating::kBundled;
  ExecuteCodeOptions::Sessions sessions = ExecuteCodeOptions::Sessions::kNotOffered;
  ToolRun::Trace trace{};
};

// The parts for one run of an agent.
struct CodeActScope {
  std::shared_ptr<const Tool> tool;
  std::string instructions;
  Value state;
};

class CodeActProvider {
 public:
  explicit CodeActProvider(CodeRunner& runner, ProviderOptions options = {});

  // Tools keep the order in which they were added. A tool with an existing name replaces the old
  // tool and moves to the end. A tool named execute_code is refused, so that code cannot run code.
  Result<void> AddTool(std::shared_ptr<const Tool> tool);
  std::vector<std::shared_ptr<const Tool>> GetTools() const;
  Result<void> RemoveTool(std::string_view name);  // kNotFound if there is none.
  void ClearTools();

  // A mount at an existing path replaces the old mount in its place. The directory is checked now,
  // so that the caller learns of a mistake, and again by every run.
  Result<void> AddMount(workspace::MountSpec mount);
  std::vector<workspace::MountSpec> GetMounts() const;
  Result<void> RemoveMount(std::string_view guest_path);  // kNotFound if there is none.
  void ClearMounts();

  // Returns whether execute_code must be approved as a whole: because the options say so, or
  // because a tool needs approval and the gating is kBundled.
  ApprovalMode approval_mode() const;
  std::string Description() const;
  std::string BuildInstructions(ToolsVisible visible) const;
  // Returns the configuration, for logs and stored agent sessions.
  Value SerializableState() const;

  Result<CodeActScope> BeginRun(OwnerId owner) const;

 private:
  std::shared_ptr<const CodeSetting> setting() const { return state_.Lock()->setting; }
  ApprovalMode ModeOf(const CodeSetting& setting) const;
  Value StateOf(const CodeSetting& setting) const;

  struct State {
    std::shared_ptr<const CodeSetting> setting;  // Shared by runs: replaced, never changed.
  };

  CodeRunner& runner_;
  const ApprovalMode base_approval_;
  const Gating gating_;
  const ExecuteCodeOptions::Sessions sessions_;
  const ToolRun::Trace trace_;
  mutable Guarded<State> state_;
};

}  // namespace caisson
