#include "net/access.h"

#include <algorithm>

namespace caisson::net {
namespace {

// "[::1]:80" -> "[::1]", "localhost:80" -> "localhost".
std::string_view WithoutPort(std::string_view host) {
  const std::size_t name_end = host.starts_with('[') ? host.find(']') : 0;
  if (name_end == host.npos) return host;
  return host.substr(0, host.find(':', name_end));
}

bool Lists(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::any_of(list,
                             [&](const std::string& one) { return EqualsIgnoringCase(one, item); });
}

bool IsOwn(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return EqualsIgnoringCase(origin.substr(scheme.size()), host);
  }
  return false;
}

}  // namespace

std::optional<Problem> Refuses(const AccessRules& rules, const Headers& headers) {
  const std::string* host = headers.Find("Host");
  const std::string_view name = host == nullptr ? std::string_view() : std::string_view(*host);
  if (!rules.hosts.empty() && !Lists(rules.hosts, WithoutPort(name))) {
    return Problem{
        .status = 403,
        .detail = "the Host header does not name this server; add the name to server.hosts"};
  }
  for (const Headers::Field& field : headers) {
    if (!EqualsIgnoringCase(field.name, "Origin")) continue;
    if (IsOwn(field.value, name) || Lists(rules.origins, field.value)) continue;
    return Problem{
        .status = 403,
        .detail = "pages of this Origin may not use this server; add it to server.origins"};
  }
  return std::nullopt;
}

Headers SharingHeaders(const AccessRules& rules, const Headers& request) {
  const std::string* origin = request.Find("Origin");
  if (origin == nullptr || !Lists(rules.origins, *origin)) return {};
  return {{.name = "Access-Control-Allow-Origin", .value = *origin},
          {.name = "Access-Control-Expose-Headers", .value = "*"},
          {.name = "Vary", .value = "Origin"}};
}

std::optional<Response> Preflight(const AccessRules& rules, std::string_view method,
                                  const Headers& headers) {
  const std::string* wanted = headers.Find("Access-Control-Request-Method");
  if (method != "OPTIONS" || wanted == nullptr) return std::nullopt;
  Response response{.status = 204, .headers = SharingHeaders(rules, headers)};
  if (headers.Find("Origin") == nullptr || response.headers.Find("Vary") == nullptr) {
    return std::nullopt;
  }
  response.headers.Add("Access-Control-Allow-Methods", *wanted);
  if (const std::string* names = headers.Find("Access-Control-Request-Headers")) {
    response.headers.Add("Access-Control-Allow-Headers", *names);
  }
  response.headers.Add("Access-Control-Max-Age", "600");
  return response;
}

}  // namespace caisson::net
