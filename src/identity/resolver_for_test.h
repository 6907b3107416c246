// Fixtures for the tests of all resolvers.
//
// Trust     For tests only.
// Threads   One.
// Lifetime  Values.
#pragma once

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/run_here.h"
#include "identity/resolver.h"

namespace caisson {

inline RequestOrigin RequestFrom(const char* peer,
                                 std::vector<RequestOrigin::Header> headers = {}) {
  return {.peer = asio::ip::make_address(peer), .headers = std::move(headers)};
}

inline RequestOrigin WithBearer(const std::string& token) {
  return RequestFrom("192.0.2.7", {{"Authorization", "Bearer " + token}});
}

inline Result<Identity> ResolveNow(const IdentityResolver& resolver, RequestOrigin request) {
  return RunHere(resolver.Resolve(std::move(request)));
}

// Returns "unauthenticated: ..." or the identity's canonical text, for comparison.
inline std::string Told(const Result<Identity>& result) {
  if (result) return CanonicalText(*result);
  return std::string(ToString(result.error().code())) + ": " + result.error().message();
}

}  // namespace caisson
