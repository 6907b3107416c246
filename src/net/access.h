// AccessRules say for which host names a server answers and which web pages may use it.
//
// A web page can make its visitor's browser send requests to any address that the browser can
// reach. Two checks keep such pages out. The Host header must name this server (a foreign name that
// was made to resolve to it does not). An Origin must be the server's own or one that the operator
// listed.
//
// Trust     Headers are hostile. Rules are the operator's.
// Threads   Pure functions over values.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/headers.h"
#include "net/http_message.h"

namespace caisson::net {

struct AccessRules {
  // Without port. Empty: any host, where requests carry credentials.
  std::vector<std::string> hosts{};
  std::vector<std::string>
      origins{};  // "https://app.example.com"; the server's own origin is always allowed.

  // For a server that trusts every user of this machine.
  static AccessRules LoopbackOnly() { return {.hosts = {"localhost", "127.0.0.1", "[::1]"}}; }
};

// Returns the reason if the request is refused; nullopt if it is allowed.
std::optional<Problem> Refuses(const AccessRules& rules, const Headers& headers);

// Returns the headers that allow a listed page to read the answer; none for other pages.
Headers SharingHeaders(const AccessRules& rules, const Headers& request);

// Answers a browser's preflight request (OPTIONS) for a listed page.
std::optional<Response> Preflight(const AccessRules& rules, std::string_view method,
                                  const Headers& headers);

}  // namespace caisson::net
