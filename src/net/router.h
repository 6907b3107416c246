// A Router knows which handler serves which method and path.
//
//   router.Add("GET", "/v1/runs/{id}", Answering(...));     // request.Parameter("id")
//
// HEAD is served by the handler of GET, its body left out.
//
// Trust     Paths come from clients, parsed and checked (target.h). Patterns are ours.
// Threads   Filled at start-up, then read by any number of threads.
// Lifetime  A value; what its handlers refer to must outlive the server.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "net/exchange.h"
#include "net/target.h"

namespace caisson::net {

// Judges a request by its head, before any byte of its body is read. Returns the answer to a request that is refused.
// May set `caller` and `account` of the request.
using Screen = std::function<asio::awaitable<std::optional<Response>>(Request& head)>;

// kReserved: served also when the server has room for nothing else. The handler must answer at once.
enum class Capacity { kShared, kReserved };

struct RouteOptions {
  std::size_t max_body_bytes = 1u << 20;
  Screen screen{};  // None: everybody may.
  Capacity capacity = Capacity::kShared;
};

struct Route {
  std::string method;
  std::string pattern;
  Handler handler;
  RouteOptions options{};
  std::vector<std::string> segments{};  // Of the pattern; "{id}" takes any.
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
  // A segment spelled out in a pattern goes before a parameter in its place.
  Found Find(std::string_view method, const Target& target) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace caisson::net
