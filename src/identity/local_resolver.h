// Mode `local`: one user, whoever sits at this machine.
//
// Trust     Requests from any other machine are refused. Browsers on this one can be made to send requests:
//           checking Host and Origin is the door's part.
// Threads   As IdentityResolver.
// Lifetime  As IdentityResolver.
#pragma once

#include "identity/resolver.h"

namespace caisson {

// The one user: also the command line's.
Identity LocalIdentity();

class LocalResolver final : public IdentityResolver {
 public:
  LocalResolver() : IdentityResolver(Isolation::kOptional) {}

 private:
  asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin request) const override;
};

}  // namespace caisson
