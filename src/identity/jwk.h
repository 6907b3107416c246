// The keys that verify JSON Web Tokens (RFC 7517), each for one algorithm.
//
// Trust     A key set comes from the operator or from the token issuer that the operator trusts.
//           Weak keys, points that are not on their curve and private parts are refused
//           nevertheless.
// Threads   Immutable once made.
// Lifetime  A JwtKey shares its key with its copies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// OpenSSL's type, declared here to keep OpenSSL's headers out of this one.
struct evp_pkey_st;

namespace caisson {

enum class JwtAlgorithm { kHs256, kRs256, kEs256 };
std::string_view ToString(JwtAlgorithm algorithm);  // "HS256"

// A key with a fixed algorithm. The token cannot choose how it is checked, so the text of a public
// key can never be used as a shared secret.
class JwtKey {
 public:
  // The secret must have at least 32 bytes.
  static Result<JwtKey> FromSecret(std::string secret, std::optional<std::string> id = {});
  // Reads a SubjectPublicKeyInfo: RSA with 2048 bits or more, or a point on P-256.
  static Result<JwtKey> FromPem(std::string_view pem, std::optional<std::string> id = {});

  JwtAlgorithm algorithm() const { return algorithm_; }
  const std::optional<std::string>& id() const { return id_; }

  // Returns true if `signature` is a valid signature of `message` by this key.
  bool Verifies(std::string_view message, std::string_view signature) const;

 private:
  friend class JwkReader;
  JwtKey(JwtAlgorithm algorithm, std::optional<std::string> id)
      : algorithm_(algorithm), id_(std::move(id)) {}
  static Result<JwtKey> FromPublicKey(std::shared_ptr<evp_pkey_st> key,
                                      std::optional<std::string> id);

  JwtAlgorithm algorithm_;
  std::optional<std::string> id_;
  std::string secret_{};                   // For kHs256.
  std::shared_ptr<evp_pkey_st> public_{};  // For the other algorithms.
};

// Reads {"keys": [...]}. Skips keys of other kinds, uses and algorithms, as the RFC demands. Fails
// if a key of a supported kind is malformed, if two have the same id and algorithm, or if no key is
// usable.
Result<std::vector<JwtKey>> ParseJwkSet(std::string_view json);

}  // namespace caisson
