// McpServer puts the MCP door together: a code service, its runs, and what the protocol offers of them.
//
// Trust     The client on a pipe is the local user.
// Threads   ServeLines on the executor of the lines.
// Lifetime  The service outlives it.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "codeact/fleeting_runs.h"
#include "net/stdio/line_stream.h"
#include "protocol/mcp/server.h"
#include "server/code_service.h"

namespace caisson {

class McpServer {
 public:
  explicit McpServer(CodeService& service);

  // Speaks with one client until it is gone and nothing of it runs any more.
  asio::awaitable<void> ServeLines(LineStream& lines);

 private:
  FleetingRuns runs_;
  mcp::Server server_;
};

}  // namespace caisson
