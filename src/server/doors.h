// Doors makes the network doors of a host and mounts them: runs and approvals (protocol/rest), MCP
// (protocol/mcp) and agents (protocol/responses, protocol/agui).
//
// Trust     Requests are hostile; each door resolves the identity of its requests.
// Threads   Make and mount before the server listens. Close from any thread.
// Lifetime  The host and the resolver outlive it. It outlives the server that it is mounted on.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <optional>

#include "agent/stored_conversations.h"
#include "base/clock.h"
#include "config/config.h"
#include "identity/resolver.h"
#include "net/router.h"
#include "protocol/agui/agui_api.h"
#include "protocol/responses/responses_api.h"
#include "protocol/rest/rest_api.h"
#include "server/foundry.h"
#include "server/host.h"
#include "server/mcp_server.h"

namespace caisson {

struct DoorResources {
  const Config& config;
  Host& host;
  TurnService& turns;  // Of the agents and workflows.
  const IdentityResolver& identity;
  const Clock& clock;
  asio::any_io_executor io;
  std::optional<FoundryHosting> foundry{};
  AddMcpFeatures add_mcp_features{};
};

class Doors {
 public:
  explicit Doors(DoorResources resources);
  Doors(const Doors&) = delete;
  Doors& operator=(const Doors&) = delete;

  // Call it once.
  void Mount(net::Router& router);

  // Ends streams that would otherwise never end.
  void Close() { mcp_.Close(); }
  // Returns when the doors use the host no more. Close the host first.
  asio::awaitable<void> AwaitEnd() { return agui_.Close(); }

 private:
  const DoorResources resources_;
  rest::RestApi rest_;
  McpServer mcp_;
  StoredConversations conversations_;
  responses::ResponsesApi responses_;
  agui::AguiApi agui_;
};

}  // namespace caisson
