#include "tools/http/http_rules.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

bool Allows(std::string rule, std::string_view method, std::string_view url) {
  const auto made = HttpRule::Make({.url = std::move(rule), .methods = {"GET", "POST"}});
  EXPECT_TRUE(made) << made.error().message();
  return made->Allows(method, *ParseHttpUrl(url));
}

TEST(HttpRuleTest, EveryPartOfARuleMustMatch) {
  const std::string rule = "https://api.example.com/v1";
  EXPECT_TRUE(Allows(rule, "GET", "https://api.example.com/v1"));
  EXPECT_TRUE(Allows(rule, "POST", "https://API.example.com:443/v1/users?x"));
  EXPECT_FALSE(Allows(rule, "DELETE", "https://api.example.com/v1"));
  EXPECT_FALSE(Allows(rule, "get", "https://api.example.com/v1"));
  EXPECT_FALSE(Allows(rule, "GET", "http://api.example.com/v1"));
  EXPECT_FALSE(Allows(rule, "GET", "https://api.example.com:444/v1"));
  EXPECT_FALSE(Allows(rule, "GET", "https://example.com/v1"));
  EXPECT_FALSE(Allows(rule, "GET", "https://api.example.com.evil.com/v1"));
  EXPECT_FALSE(Allows(rule, "GET", "https://xapi.example.com/v1"));
  EXPECT_FALSE(Allows(rule, "GET", "https://api.example.com/"));
}

TEST(HttpRuleTest, PathsMatchByWholeSegments) {
  EXPECT_FALSE(Allows("https://a.com/v1", "GET", "https://a.com/v10"));
  EXPECT_FALSE(Allows("https://a.com/v1", "GET", "https://a.com/V1"));
  EXPECT_FALSE(Allows("https://a.com/v1", "GET", "https://a.com/v1%2Fx"));
  EXPECT_TRUE(Allows("https://a.com/v1/", "GET", "https://a.com/v1/x"));
  EXPECT_FALSE(Allows("https://a.com/v1/", "GET", "https://a.com/v1"));
  EXPECT_TRUE(Allows("https://a.com", "GET", "https://a.com/anything"));
}

TEST(HttpRuleTest, HeadersThatCouldBypassARuleAreReserved) {
  for (const char* const name :
       {"Host", "content-length", "Transfer-Encoding", "X-Original-URL", "X-Rewrite-URL",
        "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "x-original-uri",
        "X-Forwarded-For", "X-Forwarded-Host", "X-FORWARDED-PREFIX", "Forwarded", "X-Real-IP",
        "Destination",
        // Servers that turn headers into variables (CGI, WSGI) treat these names as equal.
        "X_Original_URL", "X_HTTP_Method-Override", "Content_Length"}) {
    EXPECT_TRUE(IsReservedHeader(name)) << name;
  }
  for (const char* const name : {"Accept", "Authorization", "Cookie", "X-Request-Id", "X-Mine",
                                 "Content-Type", "If-Match", "Idempotency-Key", "Original"}) {
    EXPECT_FALSE(IsReservedHeader(name)) << name;
  }
}

TEST(HttpRuleTest, RefusesInvalidRules) {
  const auto refuses = [](HttpRuleSpec spec) {
    return !HttpRule::Make(std::move(spec)).has_value();
  };
  EXPECT_TRUE(refuses({.url = "example.com", .methods = {"GET"}}));
  EXPECT_TRUE(refuses({.url = "https://*.example.com", .methods = {"GET"}}));
  EXPECT_TRUE(refuses({.url = "https://a.com/?x", .methods = {"GET"}}));
  EXPECT_TRUE(refuses({.url = "https://a.com/", .methods = {}}));
  EXPECT_TRUE(refuses({.url = "https://a.com/", .methods = {"get"}}));
  EXPECT_TRUE(refuses({.url = "https://a.com/", .methods = {"TRACE"}}));
  EXPECT_TRUE(refuses({.url = "https://a.com/", .methods = {"CONNECT"}}));
  EXPECT_TRUE(
      refuses({.url = "https://a.com/", .methods = {"GET"}, .secret_headers = {{"X", "a\r\nb"}}}));
  EXPECT_TRUE(
      refuses({.url = "https://a.com/", .methods = {"GET"}, .secret_headers = {{"X", ""}}}));
}

}  // namespace
}  // namespace caisson
