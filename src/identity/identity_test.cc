#include "identity/identity.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace caisson {
namespace {

IsolationKey KeyOf(IdentityParts parts) {
  const Result<Identity> identity = Identity::Create(std::move(parts));
  EXPECT_TRUE(identity) << identity.error().message();
  return IsolationKey(*identity);
}

TEST(IdentityTest, CanonicalTextIsAJsonArray) {
  const auto identity = Identity::Create({.tenant = "a\"\\b", .user = "ünn", .chat = {}});
  EXPECT_EQ(CanonicalText(*identity), R"(["a\"\\b","ünn",null])");
  EXPECT_EQ(CanonicalText(Identity::None()), "[null,null,null]");
}

TEST(IdentityTest, DelimitersDoNotMoveBetweenParts) {
  EXPECT_NE(KeyOf({.tenant = "a", .user = "b:c"}), KeyOf({.tenant = "a:b", .user = "c"}));
  EXPECT_NE(KeyOf({.tenant = "a\",\"b", .user = "c"}),
            KeyOf({.tenant = "a", .user = "b", .chat = "c"}));
}

TEST(IdentityTest, PartsDoNotChangePlaces) {
  EXPECT_NE(KeyOf({.tenant = "a", .user = "b"}), KeyOf({.tenant = "b", .user = "a"}));
  EXPECT_NE(KeyOf({.tenant = "a", .user = "b"}), KeyOf({.user = "b", .chat = "a"}));
  EXPECT_NE(KeyOf({.user = "null"}), KeyOf({.tenant = "null", .user = "null"}));
}

// All triples over an alphabet of delimiters and escape characters.
TEST(IdentityTest, KeysAreInjective) {
  const std::vector<std::string> words = {"a",     ":", "\"",      "\\",   ",",   "\\\"",
                                          "\",\"", "[", "]",       "null", "a,b", "a b",
                                          "%3A",   "A", "\\u0061", " a",   "a "};
  std::vector<std::optional<std::string>> optional = {std::nullopt};
  optional.insert(optional.end(), words.begin(), words.end());
  std::set<IsolationKey> keys = {IsolationKey(Identity::None())};
  std::size_t count = 1;
  for (const auto& tenant : optional) {
    for (const auto& user : words) {
      for (const auto& chat : optional) {
        keys.insert(KeyOf({.tenant = tenant, .user = user, .chat = chat}));
        ++count;
      }
    }
  }
  EXPECT_EQ(keys.size(), count);
}

TEST(IdentityTest, TheNoneIdentityMatchesNoNamedIdentity) {
  EXPECT_TRUE(Identity::None().is_none());
  EXPECT_EQ(IsolationKey(Identity::None()), IsolationKey(Identity::None()));
  EXPECT_NE(IsolationKey(Identity::None()), KeyOf({.user = "none"}));
}

TEST(IdentityTest, AStoredKeyComesBackAsItself) {
  const IsolationKey key = KeyOf({.user = "ann"});
  EXPECT_EQ(key.str().size(), 64U);
  EXPECT_EQ(IsolationKey::FromStored(key.str()), key);
}

TEST(IdentityTest, AChatIsItsOwnPartition) {
  const auto ann = Identity::Create({.tenant = "acme", .user = "ann"});
  EXPECT_EQ(CanonicalText(*ann->InChat("7")), R"(["acme","ann","7"])");
  EXPECT_FALSE(ann->InChat(" "));
}

class RefusedPartTest : public testing::TestWithParam<std::string> {};

TEST_P(RefusedPartTest, IsRefusedInEveryPlace) {
  const std::string& part = GetParam();
  for (const auto& identity :
       {Identity::Create({.user = part}), Identity::Create({.tenant = part, .user = "ann"}),
        Identity::Create({.user = "ann", .chat = part})}) {
    ASSERT_FALSE(identity);
    EXPECT_EQ(identity.error().code(), ErrorCode::kUnauthenticated);
  }
}

INSTANTIATE_TEST_SUITE_P(IdentityTest, RefusedPartTest,
                         testing::Values("", " ", "   ", "\t", "\xc2\xa0",
                                         "\xe2\x80\x8b\xe2\x80\x8b", "\xe3\x80\x80 ",
                                         "\xef\xbb\xbf", "a\nb", "a\rb", std::string("a\0b", 3),
                                         "a\x7f",
                                         "a\x1f"
                                         "b",
                                         "\xc2\x85", "\xff", "\xc0\xaf", "\xed\xa0\x80",
                                         "a\xe2\x80", std::string(257, 'a')));

TEST(IdentityTest, TheLongestPartIsAccepted) {
  EXPECT_TRUE(Identity::Create({.user = std::string(256, 'a')}));
}

}  // namespace
}  // namespace caisson
