// OpenUpstreams connects to the MCP servers of the configuration.
//
// Trust     The operator's configuration. The servers may be hostile (tools/mcp).
// Threads   Call at start-up. Blocks until each server has listed its tools or its time-out is
//           over.
// Lifetime  `io` must run until all upstreams are closed.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "server/configured_tools.h"
#include "tools/mcp/upstream.h"

namespace caisson {

// Fails if the configuration is wrong. A server that cannot be reached is logged, and its tools are
// missing until it can be reached; the other servers are not affected.
Result<std::vector<std::shared_ptr<Upstream>>> OpenUpstreams(const Config& config,
                                                             const ToolResources& resources);

}  // namespace caisson
