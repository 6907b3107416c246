// Mode `local`: one user, the user of this machine.
//
// Trust     Requests from other machines are refused. A browser on this machine can be made to send
//           requests; the door must check Host and Origin.
// Threads   Same as IdentityResolver.
// Lifetime  Same as IdentityResolver.
#pragma once

#include "identity/resolver.h"

namespace caisson {

// The single user of mode `local` and of the command line.
Identity LocalIdentity();

class LocalResolver final : public IdentityResolver {
 public:
  LocalResolver() : IdentityResolver(Isolation::kOptional) {}

 private:
  asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin request) const override;
};

}  // namespace caisson
