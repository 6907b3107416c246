#include "base/base64.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(Base64Test, RoundTripsEveryLengthOfPadding) {
  for (const std::string bytes : {"", "f", "fo", "foo", "foob", "\xff\x00\x7f"}) {
    EXPECT_EQ(DecodeBase64(EncodeBase64(bytes)), bytes);
  }
  EXPECT_EQ(EncodeBase64("fo"), "Zm8=");
}

TEST(Base64Test, TakesTheOneSpellingOnly) {
  for (const char* text : {"Zm8", "Zm9=", "Zm8-", "Zg=a", "====", "Z===", "Zm8=\n"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace caisson
