// McpServer builds the MCP door: it serves the runs of a RunService over pipes and over HTTP.
//
// Trust     The client on a pipe is the local user. Over HTTP the resolver states the identity.
// Threads   ServeLines on the executor of the lines, HTTP on `io`. Both can serve several clients
//           at once.
// Lifetime  Runs and keys outlive it. It outlives the servers that it is mounted on.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "approval/key_ring.h"
#include "base/clock.h"
#include "identity/resolver.h"
#include "net/router.h"
#include "net/stdio/line_stream.h"
#include "protocol/mcp/approval_dialogue.h"
#include "protocol/mcp/http_endpoint.h"
#include "protocol/mcp/request_state.h"
#include "protocol/mcp/server.h"
#include "runs/run_service.h"
#include "runs/setting_source.h"

namespace caisson {

// Adds or replaces features that clients are offered. The keys seal the state of requests.
using AddMcpFeatures = std::function<void(const KeyRing& keys, mcp::Features& features)>;

struct McpOptions {
  SettingSource setting;
  CallerHost* caller_host = nullptr;  // null: runs act without a caller.
  AddMcpFeatures add_features{};
  // Makes and writes large results; without it, this is done on the executors of their requests.
  std::optional<asio::any_io_executor> cpu_pool{};
};

class McpServer {
 public:
  McpServer(RunService& runs, const KeyRing& keys, McpOptions options);

  // Serves one client. Returns when the client has disconnected and all its runs have ended or
  // sleep in the store.
  asio::awaitable<void> ServeLines(LineStream& lines);

  // Ends the streams on which clients only listen.
  void Close() { server_.changes().Close(); }

  // Adds /mcp. Call it once.
  void Mount(net::Router& router, const IdentityResolver& resolver, asio::any_io_executor io,
             mcp::HttpEndpointOptions options = {});

 private:
  CallerHost* const caller_host_;
  const SystemClock clock_;
  const mcp::RequestStates states_;
  const mcp::ApprovalDialogue approvals_;
  const mcp::Server server_;
  std::optional<mcp::HttpEndpoint> endpoint_;
};

}  // namespace caisson
