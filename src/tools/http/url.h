// A HttpUrl is an http or https URL in one reading only. What two programs could read differently is refused:
// that is where allow-lists are walked around.
//
//   "https://api.example.com:8443/v1/users?id=3"
//
// Refused: user names, anything but visible ASCII, backslashes, hosts with a trailing dot, percent signs or that
// only look like a name ("2130706433", "0x7f.1", "127.1"), IPv6 zones, ports out of range, and paths with "." or
// ".." in them however they are written. Names beyond ASCII have to come in punycode. A fragment is dropped.
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
      const;                   // For the Host header: the port only if it is not the scheme's own.
  std::string Origin() const;  // "https://host:port"
  std::string Text() const;
  bool operator==(const HttpUrl&) const = default;
};

Result<HttpUrl> ParseHttpUrl(std::string_view text);

// What a Location header means when it comes from `base`.
Result<HttpUrl> ResolveLocation(const HttpUrl& base, std::string_view location);

}  // namespace caisson
