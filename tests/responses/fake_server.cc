// Serves FakeTurns over the Responses API on a free port, and writes its address.
//
//   fake_server [--hosted]     --hosted: as Foundry hosts an agent; the platform names the user
#include <boost/asio/io_context.hpp>
#include <iostream>
#include <memory>
#include <string_view>

#include "agent/testing/fake_turns.h"
#include "identity/header_resolver.h"
#include "identity/local_resolver.h"
#include "net/endpoint.h"
#include "net/server.h"
#include "protocol/responses/responses_api.h"

int main(int count, char** arguments) {
  using namespace caisson;  // NOLINT(google-build-using-namespace)
  const bool hosted = count > 1 && std::string_view(arguments[1]) == "--hosted";
  const SystemClock clock;
  FakeTurns turns(clock);
  const LocalResolver local;
  const auto platform =
      *HeaderResolver::Create({.headers = IdentityHeaders::FoundryV2(), .proxies = {"127.0.0.1"}});
  const IdentityResolver& identity =
      hosted ? static_cast<const IdentityResolver&>(*platform) : local;
  CallerHost caller_host{{}};
  const responses::ResponsesApi api(
      {.turns = turns,
       .conversations = turns.conversations,
       .identity = identity,
       .clock = clock,
       .load_file = [](IsolationKey, RunId, std::uint32_t) -> asio::awaitable<Result<std::string>> {
         co_return std::string("\x89PNG");
       },
       .caller_host = &caller_host},
      {.required_header = hosted ? "x-agent-foundry-call-id" : ""});
  net::Router router;
  api.Mount(router, responses::Form::OpenAi());
  api.Mount(router, responses::Form::Foundry());
  asio::io_context io;
  auto server = net::Server::Listen(io.get_executor(), {asio::ip::address_v4::loopback(), 0},
                                    std::move(router), {});
  if (!server) return 1;
  (*server)->Start();
  std::cout << "http://" << net::ToText((*server)->endpoint()) << std::endl;
  io.run();
}
