// MakeTools makes the tools of a configuration. It compiles schemas, fetches secrets and builds the
// environments of commands.
//
// Trust     The operator's configuration. Secrets are read here once and given to the tools that
//           need them.
// Threads   Call at start-up.
// Lifetime  `io` and `pool` must run, and `host` must live, until the last call of these tools has
//           ended.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <vector>

#include "base/result.h"
#include "caller/child_environment.h"
#include "config/config.h"
#include "tools/command/command_tool.h"
#include "tools/tool.h"

namespace caisson {

struct ToolResources {
  asio::any_io_executor io;    // Waits for commands and requests.
  asio::any_io_executor pool;  // Resolves host names; may block.
  CallerHost& host;            // Variables that commands may inherit.
  CommandLog log{};
  // Starts the processes of all commands. null: they are forked from this process.
  std::shared_ptr<jail::ProgramStarter> starter{};
  // Called on any thread when the tools of upstreams have changed.
  std::function<void()> on_change{};
};

// Returns the tools in the order of the file. The error names the tool and its mistake.
Result<std::vector<std::shared_ptr<const Tool>>> MakeTools(const Config& config,
                                                           const ToolResources& resources);

// Checks one tool as far as that is possible without starting anything.
Result<void> CheckTool(const ToolConfig& tool);

Result<Approval> MakeApproval(const ApprovalConfig& approval);

}  // namespace caisson
