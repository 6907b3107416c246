#include "server/mcp_server.h"

#include <string>
#include <utility>

#include "codeact/instructions.h"
#include "protocol/mcp/code_tools.h"
#include "protocol/mcp/stdio_server.h"
#include "server/version.h"

namespace caisson {
namespace {

mcp::Features MakeFeatures(RunService& runs, const std::shared_ptr<const CodeSetting>& setting) {
  mcp::Features features;
  features.tools = mcp::MakeCodeTools(runs, setting);
  return features;
}

mcp::ServerInfo InfoOf(const CodeSetting& setting) {
  return {.name = "caisson",
          .version = std::string(Version()),
          .title = "Caisson",
          .instructions = Instructions(setting, ToolsVisible::kNo)};
}

// Whoever starts a program on their own machine and talks to it by pipes.
IsolationKey LocalOwner() {
  return IsolationKey(*Identity::Create({.user = "local"}));
}

}  // namespace

McpServer::McpServer(CodeService& service)
    : runs_(service.runner(), service.setting()),
      server_(InfoOf(*service.setting()), MakeFeatures(runs_, service.setting())) {}

asio::awaitable<void> McpServer::ServeLines(LineStream& lines) {
  mcp::StdioServer server(server_, lines, LocalOwner(), co_await asio::this_coro::executor);
  co_await server.Serve();
}

}  // namespace caisson
