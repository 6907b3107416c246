// A HttpUrl is an http or https URL that has only one interpretation. URLs that two programs could
// read differently are refused, because they are used to bypass allow-lists.
//
//   "https://api.example.com:8443/v1/users?id=3"
//
// Refused: user names, anything but visible ASCII, backslashes, hosts with a trailing dot or
// percent signs or that only look like a name ("2130706433", "0x7f.1", "127.1"), IPv6 zones, ports
// out of range, and paths with "." or ".." in any encoding. Names beyond ASCII must be in punycode.
// A fragment is dropped.
//
// Trust     URLs come from cells and from servers that redirect.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

struct HttpUrl {
  bool secure = true;  // https
  std::string host;    // Lower case; an IPv6 address without its brackets.
  bool is_ipv6 = false;
  std::uint16_t port = 443;
  std::string path;   // From the first slash.
  std::string query;  // With its question mark, or empty.

  std::string Authority()
      // For the Host header: includes the port only if it is not the default.
      const;
  std::string Origin() const;  // "https://host:port"
  std::string Text() const;
  bool operator==(const HttpUrl&) const = default;
};

Result<HttpUrl> ParseHttpUrl(std::string_view text);

// Resolves a Location header that came from `base`.
Result<HttpUrl> ResolveLocation(const HttpUrl& base, std::string_view location);

}  // namespace caisson
