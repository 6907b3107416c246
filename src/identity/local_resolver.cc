#include "identity/local_resolver.h"

#include "identity/peer.h"

namespace caisson {

asio::awaitable<Result<std::optional<Identity>>> LocalResolver::Read(RequestOrigin request) const {
  if (request.peer && !WithoutMapping(*request.peer).is_loopback()) {
    co_return Error(ErrorCode::kUnauthenticated,
                    "mode local serves this machine alone; choose another identity.mode");
  }
  Result<Identity> local = Identity::Create({.user = "local"});
  if (!local) co_return std::move(local).error();
  co_return std::optional(*std::move(local));
}

}  // namespace caisson
