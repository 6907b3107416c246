#include "identity/jwt.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/clock.h"
#include "identity/jwt_resolver.h"
#include "identity/resolver_for_test.h"
#include "identity/signer_for_test.h"

namespace caisson {
namespace {

const std::string kSecret(32, 's');
// Valid at the test clock's 1,700,000,000.
const std::string kClaims =
    R"({"iss":"https://issuer","aud":"caisson","exp":1700000300,"sub":"ann","org":"acme"})";

std::string Unsigned(const std::string& header, const std::string& claims) {
  return EncodeBase64Url(header) + "." + EncodeBase64Url(claims);
}

std::string Hs256(const std::string& claims = kClaims,
                  const std::string& header = R"({"alg":"HS256","typ":"JWT"})") {
  const std::string text = Unsigned(header, claims);
  return text + "." + EncodeBase64Url(HmacSha256(kSecret, text));
}

std::string SignedBy(const TestSigner& signer, const std::string& header,
                     const std::string& claims = kClaims) {
  const std::string text = Unsigned(header, claims);
  return text + "." + EncodeBase64Url(signer.Sign(text));
}

class JwtTest : public testing::Test {
 protected:
  // Returns "accepted", or the reason of the refusal.
  std::string Verdict(const std::string& token) const {
    const auto claims = VerifyJwt(token, rules_, clock_.Now());
    if (claims) return "accepted";
    EXPECT_EQ(claims.error().code(), ErrorCode::kUnauthenticated);
    return claims.error().message();
  }
  std::string VerdictOnClaims(const std::string& claims) const { return Verdict(Hs256(claims)); }

  ManualClock clock_;
  JwtRules rules_{
      .keys = {*JwtKey::FromSecret(kSecret)}, .issuer = "https://issuer", .audience = "caisson"};
};

TEST_F(JwtTest, AllThreeAlgorithmsAreServed) {
  const TestSigner rsa = TestSigner::Rsa();
  const TestSigner ec = TestSigner::P256();
  rules_.keys.push_back(*JwtKey::FromPem(rsa.PublicPem(), "r"));
  rules_.keys.push_back(*JwtKey::FromPem(ec.PublicPem(), "e"));
  EXPECT_EQ(Verdict(Hs256()), "accepted");
  EXPECT_EQ(Verdict(SignedBy(rsa, R"({"alg":"RS256","kid":"r"})")), "accepted");
  EXPECT_EQ(Verdict(SignedBy(ec, R"({"alg":"ES256"})")), "accepted");
}

TEST_F(JwtTest, AlgNoneIsRefused) {
  for (const char* none : {"none", "None", "NONE", "nOnE", ""}) {
    const std::string text = Unsigned(R"({"alg":")" + std::string(none) + R"("})", kClaims);
    EXPECT_EQ(Verdict(text + "."), "token: no key of that alg and kid");
  }
  EXPECT_EQ(Verdict(Unsigned("{}", kClaims) + "."), "token: alg is missing");
  EXPECT_EQ(Verdict(Unsigned(R"({"alg":["HS256"]})", kClaims) + "."), "token: alg is missing");
}

TEST_F(JwtTest, KeyConfusionIsRefused) {
  const TestSigner rsa = TestSigner::Rsa();
  rules_.keys = {*JwtKey::FromPem(rsa.PublicPem(), "r")};
  // Uses the public key, which everybody has, as a shared secret.
  const std::string text = Unsigned(R"({"alg":"HS256","kid":"r"})", kClaims);
  EXPECT_EQ(Verdict(text + "." + EncodeBase64Url(HmacSha256(rsa.PublicPem(), text))),
            "token: no key of that alg and kid");
  // A valid signature under another algorithm name.
  EXPECT_EQ(Verdict(SignedBy(rsa, R"({"alg":"ES256"})")), "token: no key of that alg and kid");
  EXPECT_EQ(Verdict(SignedBy(rsa, R"({"alg":"rs256"})")), "token: no key of that alg and kid");
}

TEST_F(JwtTest, UnknownCritIsRefused) {
  for (const char* crit : {R"(["exp"])", R"(["b64"])", "[]", "null"}) {
    const std::string header = R"({"alg":"HS256","b64":true,"crit":)" + std::string(crit) + "}";
    EXPECT_EQ(Verdict(Hs256(kClaims, header)), "token: crit is not supported");
  }
}

TEST_F(JwtTest, KeysTheTokenBringsAreNotUsed) {
  const TestSigner attacker = TestSigner::Rsa();
  rules_.keys = {*JwtKey::FromPem(TestSigner::Rsa().PublicPem())};
  const std::string jwk = "{" + attacker.JwkMembers() + "}";
  EXPECT_EQ(Verdict(SignedBy(attacker, R"({"alg":"RS256","jwk":)" + jwk +
                                           R"(,"jku":"https://evil.example/keys"})")),
            "token: wrong signature");
}

TEST_F(JwtTest, UnknownKidIsRefused) {
  rules_.keys = {*JwtKey::FromSecret(kSecret, "a"), *JwtKey::FromSecret(std::string(32, 'b'), "b")};
  EXPECT_EQ(Verdict(Hs256(kClaims, R"({"alg":"HS256","kid":"a"})")), "accepted");
  EXPECT_EQ(Verdict(Hs256(kClaims, R"({"alg":"HS256"})")), "accepted");
  EXPECT_EQ(Verdict(Hs256(kClaims, R"({"alg":"HS256","kid":"b"})")), "token: wrong signature");
  EXPECT_EQ(Verdict(Hs256(kClaims, R"({"alg":"HS256","kid":"../../dev/null"})")),
            "token: no key of that alg and kid");
  EXPECT_EQ(Verdict(Hs256(kClaims, R"({"alg":"HS256","kid":7})")), "token: kid is not text");
}

TEST_F(JwtTest, ChangedTokensAreRefused) {
  const std::string token = Hs256();
  const std::string other =
      Hs256(R"({"iss":"https://issuer","aud":"caisson","exp":1700000300,"sub":"bob"})");
  const auto claims_of = [](const std::string& t) {
    return t.substr(t.find('.'), t.rfind('.') - t.find('.'));
  };
  EXPECT_EQ(
      Verdict(token.substr(0, token.find('.')) + claims_of(other) + token.substr(token.rfind('.'))),
      "token: wrong signature");
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(Verdict(changed), "accepted") << i;
    EXPECT_NE(Verdict(token.substr(0, i)), "accepted") << i;
  }
}

TEST_F(JwtTest, TextThatIsNotATokenIsRefused) {
  const std::string token = Hs256();
  for (const std::string& odd :
       {std::string(), std::string(".."), std::string("a.b"), token + ".", token + "=", " " + token,
        token + "\n", "." + token, token + ".a.b", std::string(20'000, 'a'),
        Unsigned("[]", kClaims) + ".AA", Unsigned(R"({"alg":"HS256"})", "7") + ".AA",
        Unsigned(R"({"alg":"HS256")", kClaims) + ".AA"}) {
    EXPECT_NE(Verdict(odd), "accepted") << odd.substr(0, 60);
  }
}

TEST_F(JwtTest, NamesThatComeTwiceAreRefused) {
  EXPECT_EQ(
      VerdictOnClaims(
          R"({"iss":"https://issuer","aud":"caisson","exp":1700000300,"sub":"ann","sub":"bob"})"),
      "token: the claims is not JSON");
  EXPECT_EQ(Verdict(Hs256(kClaims, R"({"alg":"none","alg":"HS256"})")),
            "token: the header is not JSON");
}

TEST_F(JwtTest, TokensForSomethingElseAreRefused) {
  for (const char* type : {"JWT", "jwt", "at+jwt", "application/at+jwt"}) {
    EXPECT_EQ(Verdict(Hs256(kClaims, R"({"alg":"HS256","typ":")" + std::string(type) + "\"}")),
              "accepted");
  }
  for (const char* type : {"\"dpop+jwt\"", "\"logout+jwt\"", "\"\"", "7"}) {
    EXPECT_EQ(Verdict(Hs256(kClaims, R"({"alg":"HS256","typ":)" + std::string(type) + "}")),
              "token: typ names another kind of token");
  }
}

TEST_F(JwtTest, TheIssuerMustBeExact) {
  for (const char* issuer : {R"("https://issuer/")", R"("HTTPS://issuer")", R"("")", "null", "7",
                             R"(["https://issuer"])"}) {
    EXPECT_EQ(VerdictOnClaims(R"({"iss":)" + std::string(issuer) +
                              R"(,"aud":"caisson","exp":1700000300})"),
              "token: of another issuer");
  }
  EXPECT_EQ(VerdictOnClaims(R"({"aud":"caisson","exp":1700000300})"), "token: of another issuer");
}

TEST_F(JwtTest, TheAudienceMustBeOrHaveOurs) {
  const auto with = [&](const std::string& audience) {
    return VerdictOnClaims(R"({"iss":"https://issuer","exp":1700000300,"aud":)" + audience + "}");
  };
  EXPECT_EQ(with(R"("caisson")"), "accepted");
  EXPECT_EQ(with(R"(["other","caisson"])"), "accepted");
  for (const char* audience : {R"("caisson2")", R"("caisso")", R"(["other"])", "[]", "null", "{}",
                               R"([["caisson"]])", R"({"caisson":1})"}) {
    EXPECT_EQ(with(audience), "token: for another audience") << audience;
  }
  EXPECT_EQ(VerdictOnClaims(R"({"iss":"https://issuer","exp":1700000300})"),
            "token: for another audience");
}

TEST_F(JwtTest, ExpiryHoldsToTheSecondWithLeeway) {
  const auto with = [&](const std::string& expiry) {
    return VerdictOnClaims(R"({"iss":"https://issuer","aud":"caisson","exp":)" + expiry + "}");
  };
  EXPECT_EQ(with("1700000000"), "accepted");  // Within the leeway of 60 s.
  EXPECT_EQ(with("1699999941"), "accepted");
  EXPECT_EQ(with("1699999940.5"), "accepted");
  EXPECT_EQ(with("1699999940"), "token: expired");
  EXPECT_EQ(with("0"), "token: expired");
  EXPECT_EQ(with("-1"), "token: expired");
  for (const char* odd : {R"("1700000300")", "null", "true", "[]", "99999999999999999999"}) {
    EXPECT_EQ(with(odd), "token: exp is no time") << odd;
  }
  EXPECT_EQ(VerdictOnClaims(R"({"iss":"https://issuer","aud":"caisson"})"),
            "token: exp is missing");
  clock_.Advance(std::chrono::seconds(360));
  EXPECT_EQ(Verdict(Hs256()), "token: expired");
}

TEST_F(JwtTest, NotBeforeHoldsWithLeeway) {
  const auto with = [&](const std::string& start) {
    return VerdictOnClaims(R"({"iss":"https://issuer","aud":"caisson","exp":1700009999,"nbf":)" +
                           start + "}");
  };
  EXPECT_EQ(with("1700000060"), "accepted");
  EXPECT_EQ(with("1700000061"), "token: not valid yet");
  EXPECT_EQ(with(R"("0")"), "token: nbf is no time");
  rules_.leeway = std::chrono::seconds(0);
  EXPECT_EQ(with("1700000001"), "token: not valid yet");
}

TEST_F(JwtTest, ClaimsBecomeTheIdentity) {
  const auto resolver = JwtResolver::Create({.rules = rules_, .claims = {.tenant = "org"}}, clock_);
  ASSERT_TRUE(resolver);
  EXPECT_EQ(Told(ResolveNow(**resolver, WithBearer(Hs256()))), R"(["acme","ann",null])");
  EXPECT_FALSE(ResolveNow(**resolver, WithBearer("x" + Hs256())));
  EXPECT_FALSE(ResolveNow(**resolver, RequestFrom("::1")));
}

TEST_F(JwtTest, AMissingBlankOrNonTextClaimIsRefused) {
  const auto resolver =
      JwtResolver::Create({.rules = rules_, .isolation = Isolation::kOptional}, clock_);
  for (const char* user : {"", R"(,"sub":7)", R"(,"sub":null)", R"(,"sub":" ")",
                           R"(,"sub":"a\u0000")", R"(,"sub":["ann"])"}) {
    const std::string claims =
        R"({"iss":"https://issuer","aud":"caisson","exp":1700000300)" + std::string(user) + "}";
    EXPECT_FALSE(ResolveNow(**resolver, WithBearer(Hs256(claims)))) << user;
  }
}

TEST_F(JwtTest, RulesThatAcceptTooMuchAreRefused) {
  const auto created = [&](auto change) {
    JwtResolver::Options options{.rules = rules_};
    change(options.rules);
    return JwtResolver::Create(std::move(options), clock_).has_value();
  };
  EXPECT_TRUE(created([](JwtRules&) {}));
  EXPECT_FALSE(created([](JwtRules& rules) { rules.keys.clear(); }));
  EXPECT_FALSE(created([](JwtRules& rules) { rules.issuer.clear(); }));
  EXPECT_FALSE(created([](JwtRules& rules) { rules.audience.clear(); }));
  EXPECT_FALSE(created([](JwtRules& rules) { rules.leeway = std::chrono::seconds(601); }));
  EXPECT_FALSE(created([](JwtRules& rules) { rules.leeway = std::chrono::seconds(-1); }));
}

}  // namespace
}  // namespace caisson
