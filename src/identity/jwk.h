// The keys JSON Web Tokens are checked with (RFC 7517), each for one algorithm.
//
// Trust     A key set comes from the operator, or from whom the operator trusts to issue tokens; weak keys,
//           points off their curve and private parts are refused all the same.
// Threads   Immutable once made.
// Lifetime  A JwtKey shares its key with its copies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// OpenSSL's name, to keep its headers out of ours.
struct evp_pkey_st;

namespace caisson {

enum class JwtAlgorithm { kHs256, kRs256, kEs256 };
std::string_view ToString(JwtAlgorithm algorithm);  // "HS256"

// Knows its algorithm, so that a token has no say in how it is checked: the text of a public key can never
// become a shared secret.
class JwtKey {
 public:
  // At least 32 bytes.
  static Result<JwtKey> FromSecret(std::string secret, std::optional<std::string> id = {});
  // SubjectPublicKeyInfo: RSA of 2048 bits and more, or a point on P-256.
  static Result<JwtKey> FromPem(std::string_view pem, std::optional<std::string> id = {});

  JwtAlgorithm algorithm() const { return algorithm_; }
  const std::optional<std::string>& id() const { return id_; }

  // Whether `signature` is this key's of `message`.
  bool Verifies(std::string_view message, std::string_view signature) const;

 private:
  friend class JwkReader;
  JwtKey(JwtAlgorithm algorithm, std::optional<std::string> id)
      : algorithm_(algorithm), id_(std::move(id)) {}
  static Result<JwtKey> FromPublicKey(std::shared_ptr<evp_pkey_st> key,
                                      std::optional<std::string> id);

  JwtAlgorithm algorithm_;
  std::optional<std::string> id_;
  std::string secret_{};                   // Of kHs256.
  std::shared_ptr<evp_pkey_st> public_{};  // Of the others.
};

// Reads {"keys": [...]}. Keys of other kinds, uses and algorithms are passed over, as the RFC asks; one of ours
// that is wrong, two of one id and algorithm, and a set without any of ours are errors.
Result<std::vector<JwtKey>> ParseJwkSet(std::string_view json);

}  // namespace caisson
