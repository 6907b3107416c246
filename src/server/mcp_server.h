// McpServer puts the MCP door together: what the protocol offers of a service's runs, over pipes and over HTTP.
//
// Trust     The client on a pipe is the local user; over HTTP it is whoever the resolver says.
// Threads   ServeLines on the executor of the lines, HTTP on that of `io`; any number at once.
// Lifetime  Runs and keys outlive it; it outlives the servers it is mounted on.
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

// Adds to what clients are offered, or replaces parts of it. The keys seal the state of requests.
using AddMcpFeatures = std::function<void(const KeyRing& keys, mcp::Features& features)>;

struct McpOptions {
  SettingSource setting;
  CallerHost* sessions = nullptr;  // Without one, runs act for nobody in particular.
  AddMcpFeatures add_features{};
  // Makes and writes large results; without it, this is done on the executors of their requests.
  std::optional<asio::any_io_executor> cpu_pool{};
};

class McpServer {
 public:
  McpServer(RunService& runs, const KeyRing& keys, McpOptions options);

  // Speaks with one client until it is gone and nothing of it runs any more.
  asio::awaitable<void> ServeLines(LineStream& lines);

  // Ends the streams that clients only listen to.
  void Close() { server_.changes().Close(); }

  // Adds /mcp, once.
  void Mount(net::Router& router, const IdentityResolver& resolver, asio::any_io_executor io,
             mcp::HttpEndpointOptions options = {});

 private:
  CallerHost* const sessions_;
  const SystemClock clock_;
  const mcp::RequestStates states_;
  const mcp::ApprovalDialogue approvals_;
  const mcp::Server server_;
  std::optional<mcp::HttpEndpoint> endpoint_;
};

}  // namespace caisson
