// An HttpProxy says through which proxy requests to https URLs go. The proxy sees only the name of
// the server, because TLS passes through it (CONNECT).
//
//   auto proxy = HttpProxy::Parse("http://user:password@proxy.example:3128",
//                                 "localhost,.internal.example,10.0.0.0/8");
//
// Trust     The settings are the operator's (HTTPS_PROXY and NO_PROXY). The password is a secret.
//           The proxy's answers are bounded.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/network.h"
#include "base/result.h"
#include "tools/http/url.h"

namespace caisson {

class HttpProxy {
 public:
  // nullopt: `https_proxy` is empty. Fails with kInvalidArgument if it is not "http://HOST:PORT",
  // with or without the scheme, a user and a password. `no_proxy`: servers that are reached
  // directly, separated by commas: names (with all names below them), addresses, networks, or "*".
  static Result<std::optional<HttpProxy>> Parse(std::string_view https_proxy,
                                                std::string_view no_proxy);

  // The same with HTTPS_PROXY and NO_PROXY of an environment, in capitals or small letters. Small
  // letters win, as in other programs.
  using Environment = std::map<std::string, std::string, std::less<>>;
  static Result<std::optional<HttpProxy>> Read(const Environment& environment);

  // Returns false for http URLs, for loopback, and for servers in `no_proxy`.
  bool Serves(const HttpUrl& url) const;
  const HttpUrl& address() const { return address_; }
  // The request that opens a connection to the server of `url`.
  std::string ConnectRequest(const HttpUrl& url) const;

 private:
  HttpProxy() = default;

  HttpUrl address_;
  std::string authorization_{};  // "Basic ...", or empty.
  bool none_ = false;            // NO_PROXY is "*".
  std::vector<std::string> names_{};
  std::vector<Network> networks_{};
};

}  // namespace caisson
