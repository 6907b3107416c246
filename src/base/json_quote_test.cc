#include "base/json_quote.h"

#include <gtest/gtest.h>

#include <string>

namespace caisson {
namespace {

TEST(JsonQuotedTest, EscapesOnlyWhatJsonRequires) {
  EXPECT_EQ(JsonQuoted(""), R"("")");
  EXPECT_EQ(JsonQuoted("plain"), R"("plain")");
  EXPECT_EQ(JsonQuoted("\"a\\b\"\n\r\t"), R"("\"a\\b\"\n\r\t")");
  EXPECT_EQ(JsonQuoted(std::string_view("a\0\x1f\x7f", 4)), "\"a\\u0000\\u001f\x7f\"");
}

TEST(JsonQuotedTest, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(JsonQuoted("ü\xff\n"), "\"ü\xef\xbf\xbd\\n\"");
}

TEST(JsonQuotedTest, KeepsEveryByteOfALongText) {
  const std::string long_text(100'000, 'x');
  EXPECT_EQ(JsonQuoted(long_text + "\n" + long_text), "\"" + long_text + "\\n" + long_text + "\"");
}

}  // namespace
}  // namespace caisson
