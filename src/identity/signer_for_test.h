// Makes the keys and tokens for the tests of jwk and jwt; the signing half of RFC 7515.
//
// Trust     For tests only.
// Threads   One.
// Lifetime  A TestSigner owns its key.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace caisson {

// An issuer's private key.
class TestSigner {
 public:
  static TestSigner Rsa(int bits = 2048);
  static TestSigner P256();
  static TestSigner P384();

  // Returns a raw signature for ES256, or one for RS256.
  std::string Sign(std::string_view message) const;
  std::string PublicPem() const;
  // Returns the members of its JWK without braces: "kty":"RSA","n":...
  std::string JwkMembers() const;

 private:
  explicit TestSigner(evp_pkey_st* key);
  std::shared_ptr<evp_pkey_st> key_;
};

std::string HmacSha256(std::string_view secret, std::string_view message);

}  // namespace caisson
