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

TEST(Base64Test, AcceptsTheCanonicalSpellingOnly) {
  for (const char* text : {"Zm8", "Zm9=", "Zm8-", "Zg=a", "====", "Z===", "Zm8=\n"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

TEST(Base64UrlTest, RoundTripsEveryLength) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(DecodeBase64Url(EncodeBase64Url(bytes)), bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
  EXPECT_EQ(EncodeBase64Url("\xfb\xff"), "-_8");
}

TEST(Base64UrlTest, AcceptsOneSpellingOnly) {
  for (const char* text : {"-_8=", "+/8", "-_9", "A", "-_8 ", " -_8", "-_\n8", "-_8.", "-_8A="}) {
    EXPECT_EQ(DecodeBase64Url(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace caisson
