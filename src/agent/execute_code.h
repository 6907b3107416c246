// MakeExecuteCodeTool makes the tool `execute_code`: a model sends Python code, and receives its
// output, its value and its files.
//
//   auto tool = MakeExecuteCodeTool(
//       runner, {.owner = owner, .setting = setting, .description = text});
//
// Invoke returns the contents of outcome_contents.h. InvokeRaw returns the outcome object that
// every door shows.
//
// Trust     Arguments come from a model. They can lower limits, raise them to the setting's
//           maximum, and name sessions of this owner. They can do nothing else.
// Threads   Same as Tool.
// Lifetime  The runner outlives the tool. The tool keeps this setting; later changes apply to later
//           tools.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runs/cells/code_runner.h"
#include "tools/tool.h"

namespace caisson {

inline constexpr std::string_view kExecuteCode = "execute_code";

struct ExecuteCodeOptions {
  enum class Sessions { kNotOffered, kOffered };

  OwnerId owner;
  std::shared_ptr<const CodeSetting> setting;
  std::string description;
  Approval approval{};
  // kGiven: the calls that the code makes are approved with execute_code itself.
  Consent consent = Consent::kNone;
  Sessions sessions = Sessions::kNotOffered;
  ToolRun::Trace trace{};  // Reports the calls that the code makes.
};

// Returns the schema of the arguments of execute_code.
Value ExecuteCodeSchema(ExecuteCodeOptions::Sessions sessions);

// Returns the limits under "limits" in the arguments, which have been checked against the schema.
// nullopt: use the usual limits.
Result<std::optional<Limits>> RequestedLimits(const Dict& arguments, const Limits& usual);

Result<std::shared_ptr<const Tool>> MakeExecuteCodeTool(CodeRunner& runner,
                                                        ExecuteCodeOptions options);

}  // namespace caisson
