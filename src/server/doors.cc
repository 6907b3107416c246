#include "server/doors.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace caisson {
namespace {

// Tells clients that need a token where they can get one.
mcp::HttpEndpointOptions McpDoor(const IdentityConfig& identity) {
  mcp::HttpEndpointOptions options{.tells_metadata = identity.mode == IdentityMode::kKeys ||
                                                     identity.mode == IdentityMode::kJwt};
  if (identity.mode == IdentityMode::kJwt) options.authorization_servers = {identity.jwt.issuer};
  return options;
}

responses::ResponsesOptions ResponsesOptionsOf(const std::optional<FoundryHosting>& foundry,
                                               const std::vector<AgentInfo>& agents) {
  if (!foundry) return {};
  // The platform's name of the container may be another one.
  const bool is_ours = std::ranges::find(agents, foundry->agent, &AgentInfo::name) != agents.end();
  return {.default_agent = is_ours ? foundry->agent : "",
          .required_header = kFoundryCallHeader,
          .session = foundry->session};
}

}  // namespace

Doors::Doors(DoorResources resources)
    : resources_(std::move(resources)),
      rest_({.runs = resources_.host.runs(),
             .identity = resources_.identity,
             .clock = resources_.clock,
             .caller_host = &resources_.host.code().caller_host(),
             .cpu_pool = resources_.host.code().cpu_pool()},
            resources_.host.code().setting()->limits, resources_.host.code().setting()->ceiling),
      mcp_(resources_.host.runs(), resources_.host.state().keys(),
           {.setting = resources_.host.code().settings(),
            .caller_host = &resources_.host.code().caller_host(),
            .add_features = resources_.add_mcp_features,
            .cpu_pool = resources_.host.code().cpu_pool()}),
      conversations_(resources_.host.state().store(), &resources_.clock),
      responses_({.turns = resources_.turns,
                  .conversations = conversations_,
                  .identity = resources_.identity,
                  .clock = resources_.clock,
                  .load_file =
                      [&runs = resources_.host.runs()](IsolationKey owner, RunId run,
                                                       std::uint32_t number) {
                        return runs.File(std::move(owner), std::move(run), number);
                      },
                  .caller_host = &resources_.host.code().caller_host(),
                  .cpu_pool = resources_.host.code().cpu_pool()},
                 ResponsesOptionsOf(resources_.foundry, resources_.turns.Agents())),
      agui_({.turns = resources_.turns,
             .cancel_run = [&runs = resources_.host.runs()](
                               IsolationKey owner, RunId run) -> asio::awaitable<Result<void>> {
               auto cancelled = co_await runs.Cancel(std::move(owner), std::move(run));
               if (!cancelled) co_return std::move(cancelled).error();
               co_return Result<void>();
             },
             .threads = resources_.host.state().store().snapshots(),
             .identity = resources_.identity,
             .clock = resources_.clock,
             .executor = resources_.io,
             .caller_host = &resources_.host.code().caller_host(),
             .cpu_pool = resources_.host.code().cpu_pool()}) {}

void Doors::Mount(net::Router& router) {
  rest_.Mount(router);
  mcp::HttpEndpointOptions mcp_door = McpDoor(resources_.config.identity);
  mcp_door.cpu_pool = resources_.host.code().cpu_pool();
  mcp_.Mount(router, resources_.identity, resources_.io, std::move(mcp_door));
  responses_.Mount(router, responses::Form::OpenAi());
  agui_.Mount(router);
  responses_.Mount(router, responses::Form::Foundry());
}

}  // namespace caisson
