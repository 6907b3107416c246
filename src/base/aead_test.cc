#include "base/aead.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace caisson {
namespace {

TEST(AeadTest, OpensWhatItSealed) {
  const AeadKey key = AeadKey::Random();
  for (const std::string text : {"", "a", "a longer text"}) {
    const auto sealed = AeadSeal(key, "ann", text);
    ASSERT_TRUE(sealed);
    EXPECT_EQ(sealed->size(), text.size() + kAeadOverhead);
    EXPECT_EQ(*AeadOpen(key, "ann", *sealed), text);
  }
}

TEST(AeadTest, OneChangedBitIsRefused) {
  const AeadKey key = AeadKey::Random();
  const std::string sealed = *AeadSeal(key, "ann", "text");
  for (std::size_t i = 0; i < sealed.size() * 8; ++i) {
    std::string changed = sealed;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << (i % 8)));
    EXPECT_EQ(AeadOpen(key, "ann", changed).error().code(), ErrorCode::kInvalidArgument);
  }
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_FALSE(AeadOpen(key, "ann", sealed.substr(0, size)));
  }
  EXPECT_FALSE(AeadOpen(key, "bob", sealed));
  EXPECT_FALSE(AeadOpen(AeadKey::Random(), "ann", sealed));
}

TEST(AeadTest, DerivedKeysAreThoseOfHkdf) {
  // Expected value computed with another program: HKDF-SHA-256 without salt, key 00 01 ... 1f, info
  // "cell".
  std::array<std::uint8_t, AeadKey::kBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  const std::array<std::uint8_t, AeadKey::kBytes> expected = {
      0x8b, 0x88, 0xde, 0xb5, 0xa3, 0xa7, 0xa0, 0x86, 0xac, 0x87, 0x55,
      0x16, 0x5a, 0x45, 0xf6, 0xcd, 0x2e, 0x1a, 0x10, 0xca, 0xb2, 0x5a,
      0x50, 0x71, 0x10, 0x5e, 0x59, 0x1e, 0x6f, 0xaa, 0x20, 0x98};
  EXPECT_TRUE(std::ranges::equal(AeadKey(bytes).DerivedFor("cell").bytes(), expected));
}

TEST(AeadTest, KeysOfDifferentPurposesDoNotOpenEachOthers) {
  const AeadKey key = AeadKey::Random();
  const std::string sealed = *AeadSeal(key.DerivedFor("a"), "", "text");
  EXPECT_TRUE(AeadOpen(key.DerivedFor("a"), "", sealed));
  EXPECT_FALSE(AeadOpen(key.DerivedFor("b"), "", sealed));
  EXPECT_FALSE(AeadOpen(key, "", sealed));
}

}  // namespace
}  // namespace caisson
