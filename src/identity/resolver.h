// An IdentityResolver reads from a request who it is for. A door calls Resolve exactly once per request and
// passes on what it got (I2).
//
// Trust     Requests are hostile. A request that says nothing and one that says something wrong are
//           different: only the first may go on as nobody, and only where the operator allows that.
// Threads   Any number of requests at once, from any thread.
// Lifetime  Outlives the requests it resolves.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "identity/identity.h"

namespace caisson {

namespace asio = boost::asio;

// What a door knows of a request before it knows whose it is.
struct RequestOrigin {
  struct Header {
    std::string name;
    std::string value;
  };
  std::optional<asio::ip::address> peer{};  // Nobody: it did not come over a network.
  std::vector<Header> headers{};            // As they came, those that came twice too.
};

// kRequired (strict_isolation): no identity, no stored state.
enum class Isolation { kRequired, kOptional };

class IdentityResolver {
 public:
  explicit IdentityResolver(Isolation isolation) : isolation_(isolation) {}
  virtual ~IdentityResolver() = default;
  IdentityResolver(const IdentityResolver&) = delete;
  IdentityResolver& operator=(const IdentityResolver&) = delete;

  // kUnauthenticated: the request names nobody (and must), or not believably. The message is for the log;
  // a client is told no more than the code.
  asio::awaitable<Result<Identity>> Resolve(RequestOrigin request) const;

 private:
  // Nothing: the request does not say. An error: it says something that is not accepted.
  virtual asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin request) const = 0;

  const Isolation isolation_;
};

// The value of a header, compared without case; nothing if it is not there. One that comes twice is an
// error: whoever stands before us may have believed the other.
Result<std::optional<std::string>> OnlyHeader(const RequestOrigin& request, std::string_view name);

// The token of "Authorization: Bearer ...", nothing if there is no such header.
Result<std::optional<std::string>> BearerToken(const RequestOrigin& request);

}  // namespace caisson
