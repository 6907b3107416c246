// Mode `jwt`: bearer tokens of one issuer. Some of their claims are the identity.
//
// Trust     Same as VerifyJwt (jwt.h).
// Threads   Same as IdentityResolver.
// Lifetime  Same as IdentityResolver. The clock outlives it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "identity/jwt.h"
#include "identity/resolver.h"

namespace caisson {

// The names of the claims for each part. Each named claim must be present, as text.
struct IdentityClaims {
  std::optional<std::string> tenant{};
  std::string user = "sub";
  std::optional<std::string> chat{};
};

class JwtResolver final : public IdentityResolver {
 public:
  struct Options {
    JwtRules rules;
    IdentityClaims claims{};
    Isolation isolation = Isolation::kRequired;
  };
  // Fails with kInvalidArgument without keys, issuer or audience, and if the leeway exceeds ten
  // minutes.
  static Result<std::unique_ptr<JwtResolver>> Create(Options options, const Clock& clock);

 private:
  JwtResolver(Options options, const Clock& clock)
      : IdentityResolver(options.isolation), options_(std::move(options)), clock_(clock) {}
  asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin request) const override;
  Result<std::optional<Identity>> FromToken(const RequestOrigin& request) const;

  const Options options_;
  const Clock& clock_;
};

}  // namespace caisson
