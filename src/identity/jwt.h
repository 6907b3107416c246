// VerifyJwt checks a JSON Web Token and gives back its claims (RFC 7519, with the advice of RFC 8725).
//
// Trust     The token is hostile until the last check has passed; until then nothing in it chooses anything
//           but which of our keys to try. Keys and addresses that it brings itself are never looked at.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
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
  std::string issuer;    // iss must be exactly this.
  std::string audience;  // aud must be this, or have it among others.
  std::chrono::seconds leeway = std::chrono::seconds(60);  // For clocks that differ.
};

// kUnauthenticated, with the reason, for:
//   what is not three parts of strict base64url, JSON objects without repeated names, and an accepted typ ·
//   an alg that is not a key's own (so: none, and a public key as secret) · any crit · an unknown kid ·
//   a wrong signature · a wrong or missing iss or aud · exp missing or past · nbf to come · and any of
//   these of the wrong type.
Result<Dict> VerifyJwt(std::string_view token, const JwtRules& rules, SystemTime now);

}  // namespace caisson
