// MakeExecuteCodeTool makes the tool `execute_code`: a model sends Python, and gets back what it printed, its
// value and its files.
//
//   auto tool = MakeExecuteCodeTool(runner, {.owner = owner, .setting = setting, .description = text});
//
// Invoke gives the contents of outcome_contents.h, InvokeRaw the outcome object that every door shows.
//
// Trust     Arguments are a model's. It can lower limits and raise them to the setting's ceiling, and name sessions
//           of this owner; nothing it sends reaches beyond them.
// Threads   As Tool says.
// Lifetime  The runner outlives the tool. The setting is the tool's own from here on: what its maker changes later
//           is for later tools.
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
  ToolRun::Trace trace{};  // Of the calls the code makes.
};

// The limits that arguments ask for under "limits", checked against the schema; nothing: the usual ones.
Result<std::optional<Limits>> RequestedLimits(const Dict& arguments, const Limits& usual);

Result<std::shared_ptr<const Tool>> MakeExecuteCodeTool(CodeRunner& runner,
                                                        ExecuteCodeOptions options);

}  // namespace caisson
