// OpenUpstreams connects to the MCP servers of the configuration.
//
// Trust     The operator's configuration; the servers may be hostile (tools/mcp).
// Threads   At start-up; blocks until each has told its tools, or was given up.
// Lifetime  `io` must run until the upstreams were closed.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "server/configured_tools.h"
#include "tools/mcp/upstream.h"

namespace caisson {

// What is wrong with the configuration is an error. A server that cannot be reached is logged, and its tools are not
// there until it can: the others are.
Result<std::vector<std::shared_ptr<Upstream>>> OpenUpstreams(const Config& config,
                                                             const ToolResources& resources);

}  // namespace caisson
