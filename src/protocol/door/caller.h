// A Caller is the identity of a request.
//
// The routes' screen resolves it from the head, before the body is read, and puts it into the
// request.
//
// Trust     Resolved from hostile headers, once per request (I2).
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <any>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "identity/identity.h"
#include "identity/resolver.h"
#include "net/http_message.h"
#include "net/router.h"
#include "protocol/door/status.h"

namespace caisson::door {

struct Caller {
  Identity identity;
  IsolationKey owner;

  const std::string& name() const { return identity.user(); }  // For the record of a decision.
};

inline asio::awaitable<Result<Caller>> ResolveCaller(const IdentityResolver& resolver,
                                                     const net::Request& request) {
  RequestOrigin origin{.peer = request.peer};
  for (const auto& [name, value] : request.headers) {
    origin.headers.push_back({.name = name, .value = value});
  }
  auto identity = co_await resolver.Resolve(std::move(origin));
  if (!identity) co_return std::move(identity).error();
  co_return Caller{.identity = *identity, .owner = IsolationKey(*identity)};
}

// Returns the screen of routes that need an identity. The resolver outlives it.
inline net::Screen ScreenOf(const IdentityResolver& resolver) {
  return [&resolver](net::Request& head) -> asio::awaitable<std::optional<net::Response>> {
    auto caller = co_await ResolveCaller(resolver, head);
    if (!caller) co_return ToResponse(caller.error());
    head.account = caller->owner.str();
    head.caller = *std::move(caller);
    co_return std::nullopt;
  };
}

// Precondition: the route has the screen.
inline const Caller& CallerOf(const net::Request& request) {
  return std::any_cast<const Caller&>(request.caller);
}

}  // namespace caisson::door
