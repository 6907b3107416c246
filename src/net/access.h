// AccessRules say for which hosts a server answers and which web pages may talk to it.
//
// A page in somebody's browser can send requests to any address that browser reaches. Two checks keep it out: the Host
// header must name this server (a foreign name that was made to point here is not ours), and an Origin must be the
// server's own or one the operator listed.
//
// Trust     Headers are hostile; rules are the operator's.
// Threads   Pure functions over values.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/headers.h"
#include "net/message.h"

namespace caisson::net {

struct AccessRules {
  std::vector<std::string> hosts{};  // Without port. None: any, where requests prove who they are.
  std::vector<std::string>
      origins{};  // "https://app.example.com"; the server's own needs no entry.

  // For a server that trusts whoever is on this machine.
  static AccessRules LoopbackOnly() { return {.hosts = {"localhost", "127.0.0.1", "[::1]"}}; }
};

// Why the request is refused, if it is.
std::optional<Problem> Refuses(const AccessRules& rules, const Headers& headers);

// What a browser must be told so that a listed page may read the answer; nothing for others.
Headers SharingHeaders(const AccessRules& rules, const Headers& request);

// The answer to a browser that asks, before a listed page's request, whether it may send it (OPTIONS).
std::optional<Response> Preflight(const AccessRules& rules, std::string_view method,
                                  const Headers& headers);

}  // namespace caisson::net
