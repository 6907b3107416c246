// VerifyJwt checks a JSON Web Token and returns its claims (RFC 7519, with the advice of RFC 8725).
//
// Trust     The token is hostile until the last check has passed. Until then its only influence is
//           which of the configured keys is tried. Keys and addresses inside the token are ignored.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/jwk.h"
#include "wire/value.h"

namespace caisson {

struct JwtRules {
  std::vector<JwtKey> keys;
  std::string issuer;                                      // iss must be exactly this.
  std::string audience;                                    // aud must be this, or contain it.
  std::chrono::seconds leeway = std::chrono::seconds(60);  // Allowed difference between clocks.
};

// Fails with kUnauthenticated and the reason if:
//   the text is not three parts of strict base64url, JSON objects without repeated names, and an
//   accepted typ · alg is not that of the key (none, a public key as secret) · crit is present ·
//   kid is unknown · the signature is wrong · iss or aud is wrong or missing ·
//   exp is missing or past · nbf is in the future · or one of these has the wrong type.
Result<Dict> VerifyJwt(std::string_view token, const JwtRules& rules, SystemTime now);

}  // namespace caisson
