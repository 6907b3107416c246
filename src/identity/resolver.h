// An IdentityResolver finds out for which identity a request acts. A door calls Resolve exactly
// once per request and passes the result on (I2).
//
// Trust     Requests are hostile. A request without credentials may continue without identity if
//           the operator allows that. A request with wrong credentials is always refused.
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

// The facts about a request that a door knows before the identity is resolved.
struct RequestOrigin {
  struct Header {
    std::string name;
    std::string value;
  };
  std::optional<asio::ip::address> peer{};  // nullopt: it did not come over a network.
  std::vector<Header> headers{};            // As received, including duplicates.
};

// kRequired (strict_isolation): a request without identity is refused.
enum class Isolation { kRequired, kOptional };

class IdentityResolver {
 public:
  explicit IdentityResolver(Isolation isolation) : isolation_(isolation) {}
  virtual ~IdentityResolver() = default;
  IdentityResolver(const IdentityResolver&) = delete;
  IdentityResolver& operator=(const IdentityResolver&) = delete;

  // Fails with kUnauthenticated if the request has no identity (and needs one), or invalid
  // credentials. The message is for the log; a client is told only the code.
  asio::awaitable<Result<Identity>> Resolve(RequestOrigin request) const;

 private:
  // Returns nullopt if the request has no credentials. Fails if its credentials are not accepted.
  virtual asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin request) const = 0;

  const Isolation isolation_;
};

// Returns the value of a header, ignoring the case of its name; nullopt if it is missing. Fails if
// the header occurs twice, because a proxy in front may have used the other value.
Result<std::optional<std::string>> OnlyHeader(const RequestOrigin& request, std::string_view name);

// Returns the token of "Authorization: Bearer ..."; nullopt if there is no such header.
Result<std::optional<std::string>> BearerToken(const RequestOrigin& request);

}  // namespace caisson
