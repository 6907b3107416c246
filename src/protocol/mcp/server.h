// A Server answers MCP requests of both eras, independent of the transport.
//
//   Server server({.name = "caisson", .version = "1.0"}, std::move(features));
//   Reply reply = co_await server.Handle(request, exchange);
//
// Trust     Requests are hostile; errors are returned to the sender. The transport limits size and
//           number.
// Threads   Immutable, except for the listeners of changes. Any number of requests at once, each on
//           the serial executor of its exchange.
// Lifetime  Outlives the requests it answers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/mcp/features.h"
#include "protocol/mcp/mcp_exchange.h"
#include "protocol/mcp/mcp_message.h"
#include "protocol/mcp/tool_changes.h"
#include "tools/schema.h"

namespace caisson::mcp {

struct ServerInfo {
  std::string name;
  std::string version;
  std::string title{};
  std::string instructions{};  // Tells the model when to use the features.
};

class Server {
 public:
  // Precondition: the tools' schemas compile and their names differ.
  Server(ServerInfo info, Features features);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  asio::awaitable<Reply> Handle(const Request& request, Exchange& exchange) const;
  // For clients that are notified without a subscription, as in the legacy era.
  ToolChanges& changes() const { return *changes_; }
  // Processes a notification of a connection's client.
  static void Notice(const Notification& notification, ClientConnection& connection);

 private:
  struct Method;
  struct Tool {
    const ToolFeature* feature;
    Schema input;
  };
  static const std::map<std::string_view, Method>& Methods();

  using Answer = asio::awaitable<Reply>;
  Answer Initialize(const Dict& params, Exchange& exchange) const;
  Answer Discover(const Dict& params, Exchange& exchange) const;
  Answer Ping(const Dict& params, Exchange& exchange) const;
  Answer SetLogLevel(const Dict& params, Exchange& exchange) const;
  Answer ListTools(const Dict& params, Exchange& exchange) const;
  Answer CallTool(const Dict& params, Exchange& exchange) const;
  Answer Listen(const Dict& params, Exchange& exchange) const;
  Answer ListResources(const Dict& params, Exchange& exchange) const;
  Answer ListTemplates(const Dict& params, Exchange& exchange) const;
  Answer ReadResource(const Dict& params, Exchange& exchange) const;
  Answer Subscribe(const Dict& params, Exchange& exchange) const;
  Answer Unsubscribe(const Dict& params, Exchange& exchange) const;
  Answer ListPrompts(const Dict& params, Exchange& exchange) const;
  Answer GetPrompt(const Dict& params, Exchange& exchange) const;
  Answer Complete(const Dict& params, Exchange& exchange) const;

  std::string ShownTools(const Caller& caller) const;
  Dict Capabilities(Era era) const;
  Dict Implementation() const;
  bool Offers(const Method& method, Era era) const;
  Dict Finished(Dict result, const Method& method, Era era) const;

  const ServerInfo info_;
  const Features features_;
  std::map<std::string, Tool> tools_;
  const std::unique_ptr<ToolChanges> changes_;
};

}  // namespace caisson::mcp
