// A Router maps methods and paths to handlers.
//
//   router.Add("GET", "/v1/runs/{id}", Answering(...));     // request.Parameter("id")
//
// HEAD uses the handler of GET; its body is left out.
//
// Trust     Paths come from clients, parsed and checked (target.h). Patterns are the program's own.
// Threads   Filled at start-up, then read by any number of threads.
// Lifetime  A value. Everything that its handlers refer to must outlive the server.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "net/http_exchange.h"
#include "net/target.h"

namespace caisson::net {

// Judges a request by its head, before any byte of its body is read. Returns the answer if the
// request is refused. May set `caller` and `account` of the request.
using Screen = std::function<asio::awaitable<std::optional<Response>>(Request& head)>;

// Gives the server's own refusal of a body (too long, too slow, too much at once) the form of the
// protocol. Its status stays.
using AdaptRefusal = std::function<void(const Request& head, Response& refusal)>;

// kReserved: also served when the server has no room for other requests. The handler must answer at
// once.
enum class Capacity { kShared, kReserved };

struct RouteOptions {
  std::size_t max_body_bytes = 1u << 20;
  Screen screen{};               // Empty: no check.
  AdaptRefusal adapt_refusal{};  // Empty: it is a problem (RFC 9457).
  Capacity capacity = Capacity::kShared;
};

struct Route {
  std::string method;
  std::string pattern;
  Handler handler;
  RouteOptions options{};
  std::vector<std::string> segments{};  // The segments of the pattern; "{id}" matches any segment.
};

class Router {
 public:
  void Add(std::string method, std::string pattern, Handler handler, RouteOptions options = {});

  struct Match {
    const Route* route = nullptr;
    Query parameters{};
  };
  struct WrongMethod {
    std::string allow;  // "GET, HEAD"
  };
  struct NoSuchPath {};
  using Found = std::variant<Match, WrongMethod, NoSuchPath>;
  // A literal segment of a pattern takes precedence over a parameter in the same place.
  Found Find(std::string_view method, const Target& target) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace caisson::net
