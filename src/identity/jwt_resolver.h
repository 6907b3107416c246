// Mode `jwt`: bearer tokens of one issuer; some of their claims are the identity.
//
// Trust     As VerifyJwt (jwt.h).
// Threads   As IdentityResolver.
// Lifetime  As IdentityResolver; the clock outlives it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "identity/jwt.h"
#include "identity/resolver.h"

namespace caisson {

// Which claims are which part. Each one named must be there, as text.
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
  // kInvalidArgument without keys, issuer or audience, and for a leeway beyond ten minutes.
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
