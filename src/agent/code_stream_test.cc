#include "agent/code_stream.h"

#include <gtest/gtest.h>

#include "agent/reply_items.h"

namespace caisson {
namespace {

// Reads the arguments in two pieces, split at `split`.
std::string InTwo(const std::string& arguments, std::size_t split) {
  CodeStream stream;
  std::string code = stream.Read(arguments.substr(0, split));
  return code + stream.Read(arguments);
}

TEST(CodeStreamTest, TheCodeComesWholeHoweverTheArgumentsAreSplit) {
  const std::string code = "print(\"a\\n\")\n\tx = '\xC3\xA9 \xF0\x9F\x98\x80' # \x01/\x7f";
  const std::string arguments =
      R"json( { "code" : "print(\"a\\n\")\n\tx = '\u00e9 \ud83d\ude00' # \u0001\/)json"
      "\x7f\", \"limits\": {\"code\": 1}}";
  ASSERT_EQ(ParseCodeArguments(arguments)->code, code);
  for (std::size_t split = 0; split <= arguments.size(); ++split) {
    EXPECT_EQ(InTwo(arguments, split), code) << split;
  }
  CodeStream stream;
  std::string read;
  for (std::size_t size = 0; size <= arguments.size(); ++size) {
    read += stream.Read(arguments.substr(0, size));
  }
  EXPECT_EQ(read, code);
}

TEST(CodeStreamTest, OtherArgumentsAreNotFollowed) {
  for (const std::string arguments :
       {R"({"limits": {}, "code": "x"})", R"(["code", "x"])", R"({"code": 5})", R"({"co": "x"})",
        R"("code")", "", "{", "null"}) {
    for (std::size_t split = 0; split <= arguments.size(); ++split) {
      EXPECT_EQ(InTwo(arguments, split), "") << arguments;
    }
  }
}

TEST(CodeStreamTest, WhatIsNotJsonEndsTheStream) {
  EXPECT_EQ(InTwo(R"({"code": "a\xb"})", 12), "a");
  EXPECT_EQ(InTwo(R"({"code": "a\ud800b"})", 12), "a");
  EXPECT_EQ(InTwo(R"({"code": "a\ud800\u0041b"})", 12), "a");
  EXPECT_EQ(InTwo(R"({"code": "a\udc00b"})", 12), "a");
  EXPECT_EQ(InTwo(R"({"code": "a\u00)", 12), "a");
}

}  // namespace
}  // namespace caisson
