#include "identity/jwk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "identity/signer_for_test.h"

namespace caisson {
namespace {

std::string Set(const std::vector<std::string>& members) {
  std::string set = R"({"keys":[)";
  for (const std::string& each : members) set += (set.back() == '[' ? "{" : ",{") + each + "}";
  return set + "]}";
}

std::string Oct(const std::string& secret) {
  return R"("kty":"oct","k":")" + EncodeBase64Url(secret) + "\"";
}

const std::string kSecret(32, 's');

std::string WhyNot(const std::string& set) {
  const auto keys = ParseJwkSet(set);
  return keys ? "accepted" : keys.error().message();
}

TEST(JwkTest, EachKindChecksItsOwnSignatures) {
  const TestSigner rsa = TestSigner::Rsa();
  const TestSigner ec = TestSigner::P256();
  const auto keys = ParseJwkSet(
      Set({Oct(kSecret) + R"(,"kid":"a")", rsa.JwkMembers() + R"(,"kid":"b","use":"sig")",
           ec.JwkMembers() + R"(,"alg":"ES256","key_ops":["verify"])"}));
  ASSERT_TRUE(keys) << keys.error().message();
  ASSERT_EQ(keys->size(), 3U);
  const std::string signatures[] = {HmacSha256(kSecret, "text"), rsa.Sign("text"), ec.Sign("text")};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ((*keys)[i].Verifies("text", signatures[j]), i == j);
    }
    EXPECT_FALSE((*keys)[i].Verifies("Text", signatures[i]));
    EXPECT_FALSE((*keys)[i].Verifies("text", ""));
    EXPECT_FALSE((*keys)[i].Verifies("text", signatures[i].substr(1)));
    EXPECT_FALSE((*keys)[i].Verifies("text", signatures[i] + "x"));
  }
  EXPECT_EQ((*keys)[0].id(), "a");
  EXPECT_EQ((*keys)[2].id(), std::nullopt);
}

TEST(JwkTest, PemGivesTheAlgorithmOfItsKey) {
  const TestSigner rsa = TestSigner::Rsa();
  EXPECT_TRUE(JwtKey::FromPem(rsa.PublicPem())->Verifies("text", rsa.Sign("text")));
  EXPECT_EQ(JwtKey::FromPem(rsa.PublicPem())->algorithm(), JwtAlgorithm::kRs256);
  EXPECT_EQ(JwtKey::FromPem(TestSigner::P256().PublicPem())->algorithm(), JwtAlgorithm::kEs256);
  EXPECT_FALSE(JwtKey::FromPem(TestSigner::P384().PublicPem()));
  EXPECT_FALSE(JwtKey::FromPem(TestSigner::Rsa(1024).PublicPem()));
  EXPECT_FALSE(JwtKey::FromPem("no key"));
  EXPECT_FALSE(JwtKey::FromPem(""));
}

// A verifier without range checks accepts r = s = 0 for any text.
TEST(JwkTest, AnEs256SignatureOfZeroesIsRefused) {
  const auto key = JwtKey::FromPem(TestSigner::P256().PublicPem());
  EXPECT_FALSE(key->Verifies("text", std::string(64, '\0')));
}

TEST(JwkTest, KeysOfOthersArePassedOver) {
  const auto keys = ParseJwkSet(Set(
      {R"("kty":"OKP","crv":"Ed25519","x":"AA")", Oct(kSecret) + R"(,"use":"enc")",
       Oct(kSecret) + R"(,"alg":"HS512")", Oct(kSecret) + R"(,"key_ops":["sign"])",
       R"("kty":"EC","crv":"P-521","x":"AA","y":"AA")",
       TestSigner::Rsa().JwkMembers() + R"(,"alg":"PS256")", Oct(kSecret) + R"(,"alg":"HS256")"}));
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_EQ(keys->size(), 1U);
}

TEST(JwkTest, WeakBrokenAndPrivateKeysAreRefused) {
  using testing::HasSubstr;
  const TestSigner ec = TestSigner::P256();
  EXPECT_THAT(WhyNot(Set({Oct(std::string(31, 's'))})), HasSubstr("32 bytes"));
  EXPECT_THAT(WhyNot(Set({TestSigner::Rsa(1024).JwkMembers()})), HasSubstr("2048"));
  EXPECT_THAT(WhyNot(Set({ec.JwkMembers() + R"(,"d":"AA")"})), HasSubstr("private"));
  const std::string one = EncodeBase64Url(std::string(31, '\0') + "\x01");
  EXPECT_THAT(WhyNot(Set({R"("kty":"EC","crv":"P-256","x":")" + one + R"(","y":")" + one + "\""})),
              HasSubstr("the key is not valid"));
  EXPECT_THAT(WhyNot(Set({R"("kty":"RSA","n":"AA","e":"AQAB")"})), testing::Ne("accepted"));
  EXPECT_THAT(WhyNot(Set({R"("kty":"oct")"})), HasSubstr("k is missing"));
  EXPECT_THAT(WhyNot(Set({R"("kty":"oct","k":"=")"})), HasSubstr("k is missing or wrong"));
  EXPECT_THAT(WhyNot(Set({R"("k":"AA")"})), HasSubstr("kty"));
}

TEST(JwkTest, SetsThatAreNoneAreRefused) {
  for (const char* set : {"", "[]", "{}", R"({"keys":{}})", R"({"keys":[]})", R"({"keys":[1]})",
                          R"({"keys":[],"keys":[]})"}) {
    EXPECT_FALSE(ParseJwkSet(set)) << set;
  }
  EXPECT_FALSE(ParseJwkSet(Set({Oct(kSecret), Oct(kSecret)})));
  EXPECT_FALSE(ParseJwkSet(Set({Oct(kSecret) + R"(,"kid":"a")", Oct(kSecret) + R"(,"kid":"a")"})));
}

}  // namespace
}  // namespace caisson
