// A CodeActProvider holds what an agent's code may use, and hands each agent run an execute_code of its own.
//
//   CodeActProvider provider(runner);
//   provider.AddTool(*send);
//   auto scope = *provider.BeginRun(owner);         // scope.tool, scope.instructions, scope.state
//
// A scope is a snapshot: what is added or removed later is for later runs.
//
// Trust     Tools are the operator's. Serialisable state names things and holds no secret: of the environment the
//           names alone.
// Threads   Any.
// Lifetime  The runner outlives the provider and what it made.
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

// Who is asked when code calls a tool that needs approval.
enum class Gating {
  kBundled,  // execute_code as a whole, before anything runs: one yes covers what the code does.
  kPerCall,  // Nobody: a call that needs approval is denied inside the running code.
};

struct ProviderOptions {
  CodeSetting setting{};                                // Its tools are where the provider begins.
  ApprovalMode approval = ApprovalMode::kNeverRequire;  // Of execute_code, whatever its tools say.
  Gating gating = Gating::kBundled;
  ExecuteCodeOptions::Sessions sessions = ExecuteCodeOptions::Sessions::kNotOffered;
  ToolRun::Trace trace{};
};

// What one run of an agent gets.
struct CodeActScope {
  std::shared_ptr<const Tool> tool;
  std::string instructions;
  Value state;
};

class CodeActProvider {
 public:
  explicit CodeActProvider(CodeRunner& runner, ProviderOptions options = {});

  // In the order they were added; one of a name that is taken replaces it and moves to the end. A tool
  // called execute_code is refused: code does not run code.
  Result<void> AddTool(std::shared_ptr<const Tool> tool);
  std::vector<std::shared_ptr<const Tool>> GetTools() const;
  Result<void> RemoveTool(std::string_view name);  // kNotFound if there is none.
  void ClearTools();

  // A mount at a path that is taken replaces it in its place. The directory is looked at now, so that a
  // mistake is told to whoever makes it, and again by every run.
  Result<void> AddMount(workspace::MountSpec mount);
  std::vector<workspace::MountSpec> GetMounts() const;
  Result<void> RemoveMount(std::string_view guest_path);  // kNotFound if there is none.
  void ClearMounts();

  // Whether execute_code must be approved as a whole: asked for, or because a tool is gated (kBundled).
  ApprovalMode approval_mode() const;
  std::string Description() const;
  std::string BuildInstructions(ToolsVisible visible) const;
  // What is configured, for logs and stored agent sessions.
  Value SerializableState() const;

  Result<CodeActScope> BeginRun(OwnerId owner) const;

 private:
  std::shared_ptr<const CodeSetting> setting() const { return state_.Lock()->setting; }
  ApprovalMode ModeOf(const CodeSetting& setting) const;
  Value StateOf(const CodeSetting& setting) const;

  struct State {
    std::shared_ptr<const CodeSetting> setting;  // Replaced, never changed: runs share it.
  };

  CodeRunner& runner_;
  const ApprovalMode base_approval_;
  const Gating gating_;
  const ExecuteCodeOptions::Sessions sessions_;
  const ToolRun::Trace trace_;
  mutable Guarded<State> state_;
};

}  // namespace caisson
