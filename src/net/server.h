// A Server answers HTTP/1.1 on one address: many connections, one request at a time on each.
//
//   Router router;
//   router.Add("GET", "/healthz", Answering(...));
//   auto server = Server::Listen(io.get_executor(), *endpoint, std::move(router), {});
//   (*server)->Start();
//   ...
//   co_await (*server)->Close(std::chrono::seconds(10));
//
// Trust     Clients are hostile. Heads, bodies, connections, waiting times and queued answers are
//           bounded. A request whose end is ambiguous is refused and its connection closed.
// Threads   `io` may be run by several threads; each connection has its own strand. Start and Close
//           may be called from any thread.
// Lifetime  Close() must have returned before the destructor runs, and `io` must run until then.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/access.h"
#include "net/connection_table.h"
#include "net/router.h"

namespace caisson::net {

// One request and its result, for logs and metrics.
struct Served {
  std::string method;
  std::string route;  // The pattern of the route; empty if no route matched.
  int status = 0;     // 499: the client had disconnected.
  std::chrono::steady_clock::duration time{};
  std::string instance{};  // For a failure of the server: the id that the client was told,
  std::string failure{};   // and what happened.
};

struct ServerOptions {
  AccessRules access{};
  ConnectionLimits connections{};
  std::size_t max_head_bytes = 32u << 10;
  std::size_t max_bodies_bytes = 256u << 20;             // All connections together.
  std::size_t max_bodies_bytes_per_account = 64u << 20;  // For one Request::account.
  std::size_t max_queued_bytes = 4u << 20;               // Posted, but not yet taken by the client.
  // head_time: from the first byte of a request (or the start of the connection) to the end of its
  // head. body_time: from there to the end of its body. idle_time: between requests. The last one:
  // how long a client may accept no byte of an answer.
  std::chrono::steady_clock::duration head_time = std::chrono::seconds(10);
  std::chrono::steady_clock::duration body_time = std::chrono::seconds(30);
  std::chrono::steady_clock::duration idle_time = std::chrono::seconds(60);
  std::chrono::steady_clock::duration write_time = std::chrono::seconds(30);
  std::function<void(const Served& served)>
      on_served{};  // Called on the connection's strand; must not block.
};

class Server {
 public:
  // Fails with kFailedPrecondition if the address is already in use.
  static Result<std::unique_ptr<Server>> Listen(asio::any_io_executor io,
                                                const asio::ip::tcp::endpoint& endpoint,
                                                Router router, ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // The address on which it listens, with the actual port if port 0 was asked for.
  const asio::ip::tcp::endpoint& endpoint() const { return endpoint_; }
  void Start();
  // Accepts no more connections, lets current requests finish for as long as `drain`, then cancels
  // their handlers. Returns when nothing is left. Call it once.
  asio::awaitable<void> Close(std::chrono::steady_clock::duration drain);

 private:
  class State;
  Server(std::shared_ptr<State> state, asio::ip::tcp::endpoint endpoint);

  const std::shared_ptr<State> state_;  // Shared with the coroutines that accept and serve.
  const asio::ip::tcp::endpoint endpoint_;
};

}  // namespace caisson::net
