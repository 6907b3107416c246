// MakeTools makes the tools of a configuration: schemas compiled, secrets fetched, environments built.
//
// Trust     The operator's configuration. Secrets are read here, once, and handed to the tools that need them.
// Threads   At start-up.
// Lifetime  `io` and `pool` must run, and `host` stay, until the last call of these tools is over.
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
  asio::any_io_executor io;    // Where commands and requests are waited for.
  asio::any_io_executor pool;  // Where names are resolved; may block.
  CallerHost& host;            // What commands inherit, as far as the operator lets them.
  CommandLog log{};
  // Shared by all commands; null: their processes are copies of this one.
  std::shared_ptr<jail::ProgramStarter> starter{};
  std::function<void()>
      on_change{};  // When upstreams have other tools than before; from any thread.
};

// In the order of the file. The error names the tool and what is wrong with it.
Result<std::vector<std::shared_ptr<const Tool>>> MakeTools(const Config& config,
                                                           const ToolResources& resources);

// As far as that can be said without starting anything.
Result<void> CheckTool(const ToolConfig& tool);

Result<Approval> MakeApproval(const ApprovalConfig& approval);

}  // namespace caisson
