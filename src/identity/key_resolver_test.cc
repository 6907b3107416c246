#include "identity/key_resolver.h"

#include <gtest/gtest.h>

#include "identity/resolver_for_test.h"

namespace caisson {
namespace {

BearerKey KeyFor(const char* user, std::string_view key) {
  return {*Identity::Create({.tenant = "acme", .user = user}), *DigestOfKey(key)};
}

const std::string kAnn = "ann-0123456789abcdef";
const std::string kBob = "bob-0123456789abcdef";

std::unique_ptr<KeyResolver> AnnAndBob(Isolation isolation = Isolation::kRequired) {
  return *KeyResolver::Create({KeyFor("ann", kAnn), KeyFor("bob", kBob)}, isolation);
}

TEST(KeyResolverTest, EachKeyIsItsOwners) {
  const auto resolver = AnnAndBob();
  EXPECT_EQ(Told(ResolveNow(*resolver, WithBearer(kAnn))), R"(["acme","ann",null])");
  EXPECT_EQ(Told(ResolveNow(*resolver, WithBearer(kBob))), R"(["acme","bob",null])");
}

TEST(KeyResolverTest, OtherKeysAreNobodys) {
  const auto resolver = AnnAndBob(Isolation::kOptional);
  for (const std::string& key :
       {std::string("x"), kAnn + "x", kAnn.substr(1), "A" + kAnn.substr(1), ToHex(Sha256(kAnn))}) {
    EXPECT_EQ(Told(ResolveNow(*resolver, WithBearer(key))), "unauthenticated: unknown key");
  }
}

TEST(KeyResolverTest, WithoutAKeyStrictDecides) {
  EXPECT_FALSE(ResolveNow(*AnnAndBob(Isolation::kRequired), RequestFrom("::1")));
  EXPECT_TRUE(ResolveNow(*AnnAndBob(Isolation::kOptional), RequestFrom("::1"))->is_none());
}

TEST(KeyResolverTest, GuessableAmbiguousOrNoKeysAreRefused) {
  EXPECT_FALSE(DigestOfKey("fifteen letters"));
  EXPECT_FALSE(KeyResolver::Create({}, Isolation::kRequired));
  EXPECT_FALSE(
      KeyResolver::Create({KeyFor("ann", kAnn), KeyFor("bob", kAnn)}, Isolation::kRequired));
}

}  // namespace
}  // namespace caisson
