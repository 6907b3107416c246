#include "identity/local_resolver.h"

#include "base/network.h"

namespace caisson {

Identity LocalIdentity() {
  return *Identity::Create({.user = "local"});
}

asio::awaitable<Result<std::optional<Identity>>> LocalResolver::Read(RequestOrigin request) const {
  if (request.peer && !WithoutMapping(*request.peer).is_loopback()) {
    co_return Error(
        ErrorCode::kUnauthenticated,
        "identity.mode local serves requests from this machine only; choose another identity.mode");
  }
  co_return std::optional(LocalIdentity());
}

}  // namespace caisson
