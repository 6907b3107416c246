#include "tools/http/http_rules.h"

#include <algorithm>
#include <iterator>

namespace caisson {
namespace {

bool IsTokenCharacter(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != kOthers.npos;
}

constexpr std::string_view kReserved[] = {
    // The message and the connection.
    "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer",
    "expect", "keep-alive", "proxy-authorization", "proxy-connection", "accept-encoding",
    "http2-settings",
    // Another method (Rails, Symfony, ASP.NET, Google APIs and others).
    "x-http-method-override", "x-http-method", "x-method-override",
    // Another URL or host. WebDAV copies and moves to Destination. Symfony, Zend and IIS use
    // X-Original-URL and X-Rewrite-URL as the path: see kReservedPrefixes.
    "x-http-path-override", "x-http-host-override", "x-host", "x-envoy-original-path",
    "destination",
    // The sender.
    "forwarded", "via", "x-real-ip", "x-client-ip", "client-ip", "true-client-ip",
    "x-cluster-client-ip", "x-remote-ip", "x-remote-addr", "x-remote-user", "remote-user",
    "cf-connecting-ip", "fastly-client-ip", "x-proxyuser-ip"};

constexpr std::string_view kReservedPrefixes[] = {
    "x-forwarded-",  // -For, -Host, -Proto, -Port, -Prefix, -Path, -Method, -Uri, -User ...
    "x-original-",   // -URL, -URI, -Host, -Method, -Path ...
    "x-rewrite-",    // -URL
};

Error Bad(const HttpRuleSpec& spec, std::string_view problem) {
  return Error(ErrorCode::kInvalidArgument,
               "rule for \"" + spec.url + "\": " + std::string(problem));
}

}  // namespace

bool IsHeaderName(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, IsTokenCharacter);
}

bool IsHeaderValue(std::string_view value) {
  return value.size() <= 8192 && std::ranges::all_of(value, [](char c) {
           return (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\t';
         });
}

std::string FoldedHeaderName(std::string_view name) {
  std::string folded(name);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return folded;
}

bool IsReservedHeader(std::string_view name) {
  const std::string folded = FoldedHeaderName(name);
  return std::ranges::find(kReserved, folded) != std::end(kReserved) ||
         std::ranges::any_of(kReservedPrefixes,
                             [&](std::string_view prefix) { return folded.starts_with(prefix); });
}

Result<HttpRule> HttpRule::Make(HttpRuleSpec spec) {
  auto base = ParseHttpUrl(spec.url);
  if (!base) return Bad(spec, base.error().message());
  if (!base->query.empty() || spec.url.find('#') != spec.url.npos) {
    return Bad(spec, "it must end with the path, without a query or fragment");
  }
  if (spec.methods.empty()) return Bad(spec, "it needs at least one method");
  for (const std::string& method : spec.methods) {
    const bool capitals =
        !method.empty() && std::ranges::all_of(method, [](char c) { return c >= 'A' && c <= 'Z'; });
    // TRACE returns the request with its secrets; CONNECT makes a tunnel to any host.
    if (!capitals || method == "TRACE" || method == "CONNECT") {
      return Bad(spec, "method \"" + method + "\" cannot be allowed");
    }
  }
  for (const auto& [name, value] : spec.secret_headers) {
    if (!IsHeaderName(name) || value.empty() || !IsHeaderValue(value)) {
      return Bad(spec, "header \"" + name + "\" has an invalid name or value");
    }
  }
  return HttpRule(std::move(spec), *std::move(base));
}

bool HttpRule::Allows(std::string_view method, const HttpUrl& url) const {
  if (std::ranges::find(spec_.methods, method) == spec_.methods.end()) return false;
  if (url.secure != base_.secure || url.host != base_.host || url.is_ipv6 != base_.is_ipv6 ||
      url.port != base_.port || !url.path.starts_with(base_.path)) {
    return false;
  }
  // "/v1" is not the start of "/v10".
  return base_.path.ends_with('/') || url.path.size() == base_.path.size() ||
         url.path[base_.path.size()] == '/';
}

}  // namespace caisson
