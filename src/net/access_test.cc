#include "net/access.h"

#include <gtest/gtest.h>

#include "net/endpoint.h"

namespace caisson::net {
namespace {

Headers From(std::string host, std::string origin = {}) {
  Headers headers;
  if (!host.empty()) headers.Add("Host", std::move(host));
  if (!origin.empty()) headers.Add("Origin", std::move(origin));
  return headers;
}

TEST(Access, ALoopbackServerGoesByItsOwnNamesOnly) {
  const auto rules = AccessRules::LoopbackOnly();
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]", "[::1]:80"}) {
    EXPECT_FALSE(Refuses(rules, From(host))) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example", "[::1", "::1", "[::2]:80"}) {
    EXPECT_TRUE(Refuses(rules, From(host))) << host;
  }
}

TEST(Access, PagesOfOtherOriginsAreRefused) {
  const AccessRules rules{.origins = {"https://app.example"}};
  for (const char* origin : {"http://box:80", "https://box:80", "https://app.example"}) {
    EXPECT_FALSE(Refuses(rules, From("box:80", origin))) << origin;
  }
  for (const char* origin : {"null", "http://box", "https://app.example.evil",
                             "https://evil/box:80", "http://app.example", "file://"}) {
    EXPECT_TRUE(Refuses(rules, From("box:80", origin))) << origin;
  }
}

TEST(Access, OneBadOriginAmongGoodOnesIsRefused) {
  Headers headers = From("box", "http://box");
  headers.Add("Origin", "http://evil");
  EXPECT_TRUE(Refuses({}, headers));
}

TEST(Access, ListedPagesMayAskAndRead) {
  const AccessRules rules{.origins = {"https://app.example"}};
  Headers headers = From("box", "https://app.example");
  headers.Add("Access-Control-Request-Method", "POST");
  headers.Add("Access-Control-Request-Headers", "authorization");
  const auto answer = Preflight(rules, "OPTIONS", headers);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 204);
  EXPECT_EQ(*answer->headers.Find("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_EQ(*answer->headers.Find("Access-Control-Allow-Headers"), "authorization");
  EXPECT_FALSE(Preflight(rules, "POST", headers));
  EXPECT_FALSE(Preflight({}, "OPTIONS", headers));
  EXPECT_EQ(SharingHeaders({}, headers).Find("Access-Control-Allow-Origin"), nullptr);
}

TEST(Endpoint, IsAnAddressAndAPort) {
  for (const char* text : {"127.0.0.1:8080", "[::1]:0", "0.0.0.0:65535"}) {
    const auto endpoint = ParseEndpoint(text);
    ASSERT_TRUE(endpoint) << text;
    EXPECT_EQ(ToText(*endpoint), text);
  }
  EXPECT_EQ(ToText(*ParseEndpoint("localhost:1")), "127.0.0.1:1");
  for (const char* text : {"", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:-1", "127.0.0.1:80x", "::1:80", "[127.0.0.1]:80", "box:80"}) {
    EXPECT_FALSE(ParseEndpoint(text)) << text;
  }
}

}  // namespace
}  // namespace caisson::net
