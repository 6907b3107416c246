// Serves FakeTurns over AG-UI on a free port, to the keys of Ann and Bob, and writes its address.
#include <boost/asio/io_context.hpp>
#include <iostream>
#include <memory>

#include "agent/testing/fake_turns.h"
#include "identity/key_resolver.h"
#include "net/endpoint.h"
#include "net/server.h"
#include "protocol/agui/agui_api.h"
#include "store/sqlite/sqlite_store.h"

int main() {
  using namespace caisson;  // NOLINT(google-build-using-namespace)
  const SystemClock clock;
  FakeTurns turns(clock);
  std::vector<BearerKey> keys;
  for (const char* user : {"ann", "bob"}) {
    keys.push_back({.identity = *Identity::Create({.tenant = "acme", .user = user}),
                    .digest = *DigestOfKey("the-key-of-" + std::string(user) + "-quite-long")});
  }
  const auto identity = *KeyResolver::Create(std::move(keys), Isolation::kRequired);
  const auto store = *OpenMemoryStore();
  asio::io_context io;
  agui::AguiApi api({.turns = turns,
                     .cancel_run = [](IsolationKey, RunId) -> asio::awaitable<Result<void>> {
                       co_return Result<void>();
                     },
                     .threads = store->snapshots(),
                     .identity = *identity,
                     .clock = clock,
                     .executor = io.get_executor()});
  net::Router router;
  api.Mount(router);
  auto server = net::Server::Listen(io.get_executor(), {asio::ip::address_v4::loopback(), 0},
                                    std::move(router), {});
  if (!server) return 1;
  (*server)->Start();
  std::cout << "http://" << net::ToText((*server)->endpoint()) << std::endl;
  io.run();
}
