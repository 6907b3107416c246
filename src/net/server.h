// A Server answers HTTP/1.1 on one address: many connections, one request at a time on each.
//
//   Router router;
//   router.Add("GET", "/healthz", Answering(...));
//   auto server = Server::Listen(io.get_executor(), *endpoint, std::move(router), {});
//   (*server)->Start();
//   ...
//   co_await (*server)->Close(std::chrono::seconds(10));
//
// Trust     Clients are hostile: heads, bodies, connections, waiting and piled-up answers are all bounded; a request
//           whose end two readers could see in two places is refused and its connection closed.
// Threads   `io` may be run by several threads; each connection has a strand of its own. Start and Close from anywhere.
// Lifetime  Close() must have returned before it goes, and `io` must run until then.
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

// One request and what became of it: for logs and metrics.
struct Served {
  std::string method;
  std::string route;  // The pattern; empty if none was reached.
  int status = 0;     // 499: the client had gone.
  std::chrono::steady_clock::duration time{};
  std::string instance{};  // Of a failure of ours: what the client was told to name, and
  std::string failure{};   // what happened.
};

struct ServerOptions {
  AccessRules access{};
  ConnectionLimits connections{};
  std::size_t max_head_bytes = 32u << 10;
  std::size_t max_bodies_bytes = 256u << 20;             // Of all connections together.
  std::size_t max_bodies_bytes_per_account = 64u << 20;  // As Request::account has it.
  std::size_t max_queued_bytes = 4u << 20;               // Posted, but not yet taken by the client.
  // From the first byte of a request (or the connection's beginning) to the end of its head; from there to the end of
  // its body; between requests; and how long a client may take nothing of an answer.
  std::chrono::steady_clock::duration head_time = std::chrono::seconds(10);
  std::chrono::steady_clock::duration body_time = std::chrono::seconds(30);
  std::chrono::steady_clock::duration idle_time = std::chrono::seconds(60);
  std::chrono::steady_clock::duration write_time = std::chrono::seconds(30);
  std::function<void(const Served& served)>
      on_served{};  // On the connection's strand; must not block.
};

class Server {
 public:
  // kFailedPrecondition: somebody else listens there.
  static Result<std::unique_ptr<Server>> Listen(asio::any_io_executor io,
                                                const asio::ip::tcp::endpoint& endpoint,
                                                Router router, ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Where it listens, with the port that was found for port 0.
  const asio::ip::tcp::endpoint& endpoint() const { return endpoint_; }
  void Start();
  // Takes no more connections, lets requests under way finish for as long as `drain`, then cancels their handlers.
  // Returns when nothing is left. Once.
  asio::awaitable<void> Close(std::chrono::steady_clock::duration drain);

 private:
  class State;
  Server(std::shared_ptr<State> state, asio::ip::tcp::endpoint endpoint);

  const std::shared_ptr<State> state_;  // Shared with the coroutines that accept and serve.
  const asio::ip::tcp::endpoint endpoint_;
};

}  // namespace caisson::net
