#include "server/mcp_server.h"

#include <boost/asio/this_coro.hpp>
#include <memory>
#include <string>
#include <utility>

#include "agent/instructions.h"
#include "protocol/mcp/code_tools.h"
#include "protocol/mcp/run_files.h"
#include "protocol/mcp/stdio_server.h"
#include "runs/door_caller.h"
#include "server/version.h"

namespace caisson {
namespace {

mcp::Features MakeFeatures(RunService& runs, const mcp::ApprovalDialogue& approvals,
                           const KeyRing& keys, const McpOptions& options) {
  mcp::Features features;
  features.tools = mcp::MakeCodeTools(runs, approvals, options.setting, options.cpu_pool);
  features.tools_changed = options.setting.changes();
  features.resources = std::make_unique<mcp::RunFiles>(runs, options.cpu_pool);
  if (options.add_features) options.add_features(keys, features);
  return features;
}

mcp::ServerInfo InfoOf(const CodeSetting& setting) {
  return {.name = "caisson",
          .version = std::string(Version()),
          .title = "Caisson",
          .instructions = Instructions(setting, ToolsVisible::kNo)};
}

// The user who started this program and talks to it over pipes.
IsolationKey LocalOwner() {
  return IsolationKey(*Identity::Create({.user = "local"}));
}

}  // namespace

McpServer::McpServer(RunService& runs, const KeyRing& keys, McpOptions options)
    : caller_host_(options.caller_host),
      states_(keys, clock_),
      approvals_(runs, states_, options.cpu_pool),
      server_(InfoOf(*options.setting.For(nullptr)),
              MakeFeatures(runs, approvals_, keys, options)) {}

asio::awaitable<void> McpServer::ServeLines(LineStream& lines) {
  mcp::Principal user{.owner = LocalOwner()};
  if (caller_host_ != nullptr) {
    user.caller = std::make_shared<const CallerContext>(LocalCaller(*caller_host_, "mcp"));
  }
  mcp::StdioServer server(server_, lines, std::move(user), co_await asio::this_coro::executor);
  co_await server.Serve();
}

void McpServer::Mount(net::Router& router, const IdentityResolver& resolver,
                      asio::any_io_executor io, mcp::HttpEndpointOptions options) {
  options.caller_host = caller_host_;
  endpoint_.emplace(server_, resolver, std::move(io), std::move(options));
  endpoint_->Mount(router);
}

}  // namespace caisson
