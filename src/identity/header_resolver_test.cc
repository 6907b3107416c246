#include "identity/header_resolver.h"

#include <gtest/gtest.h>

#include "identity/resolver_for_test.h"

namespace caisson {
namespace {

std::unique_ptr<HeaderResolver> Behind(std::vector<std::string> proxies, IdentityHeaders headers,
                                       Isolation isolation = Isolation::kRequired) {
  auto resolver = HeaderResolver::Create(
      {.headers = std::move(headers), .proxies = std::move(proxies), .isolation = isolation});
  EXPECT_TRUE(resolver);
  return *std::move(resolver);
}

TEST(HeaderResolverTest, FoundryV1NeedsUserAndChat) {
  const auto resolver = Behind({"10.0.0.7"}, IdentityHeaders::FoundryV1(), Isolation::kOptional);
  EXPECT_EQ(
      Told(ResolveNow(*resolver, RequestFrom("10.0.0.7", {{"X-Agent-User-Isolation-Key", "u"},
                                                          {"x-agent-chat-isolation-key", "c"}}))),
      R"([null,"u","c"])");
  EXPECT_FALSE(
      ResolveNow(*resolver, RequestFrom("10.0.0.7", {{"x-agent-user-isolation-key", "u"}})));
  EXPECT_FALSE(
      ResolveNow(*resolver, RequestFrom("10.0.0.7", {{"x-agent-chat-isolation-key", "c"}})));
}

TEST(HeaderResolverTest, FoundryV2NeedsTheUser) {
  const auto resolver = Behind({"10.0.0.7"}, IdentityHeaders::FoundryV2());
  EXPECT_EQ(Told(ResolveNow(*resolver, RequestFrom("10.0.0.7", {{"x-agent-user-id", "u"}}))),
            R"([null,"u",null])");
}

TEST(HeaderResolverTest, NoHeaderAtAllIsNobodyUnlessStrict) {
  EXPECT_FALSE(ResolveNow(*Behind({"::1"}, IdentityHeaders::FoundryV1()), RequestFrom("::1")));
  EXPECT_TRUE(ResolveNow(*Behind({"::1"}, IdentityHeaders::FoundryV1(), Isolation::kOptional),
                         RequestFrom("::1"))
                  ->is_none());
}

TEST(HeaderResolverTest, OnlyProxiesAreBelieved) {
  const auto resolver = Behind({"10.0.0.7", "10.1.0.0/16", "192.0.2.128/25", "fd00::/8"},
                               IdentityHeaders::FoundryV2(), Isolation::kOptional);
  const auto from = [&](const char* peer) {
    return ResolveNow(*resolver, RequestFrom(peer, {{"x-agent-user-id", "u"}})).has_value();
  };
  for (const char* peer : {"10.0.0.7", "::ffff:10.0.0.7", "10.1.255.1", "192.0.2.200", "fd12::1"}) {
    EXPECT_TRUE(from(peer)) << peer;
  }
  for (const char* peer : {"10.0.0.8", "10.2.0.1", "192.0.2.127", "fe00::1", "127.0.0.1", "::1",
                           "::ffff:10.0.0.8", "::10.0.0.7"}) {
    EXPECT_FALSE(from(peer)) << peer;
  }
  // Not without identity either, and not without an address.
  EXPECT_FALSE(ResolveNow(*resolver, RequestFrom("10.0.0.8")));
  EXPECT_FALSE(ResolveNow(*resolver, {.headers = {{"x-agent-user-id", "u"}}}));
}

TEST(HeaderResolverTest, DoubledAndDirtyHeadersAreRefused) {
  const auto resolver = Behind({"::1"}, IdentityHeaders::FoundryV2(), Isolation::kOptional);
  EXPECT_FALSE(ResolveNow(
      *resolver, RequestFrom("::1", {{"x-agent-user-id", "ann"}, {"X-Agent-User-Id", "ann"}})));
  for (const std::string& value : {std::string(), std::string(" "), std::string("a\tb"),
                                   std::string("a\0", 2), std::string(300, 'a')}) {
    EXPECT_FALSE(ResolveNow(*resolver, RequestFrom("::1", {{"x-agent-user-id", value}})));
  }
}

TEST(HeaderResolverTest, ConfiguredNamesMayHaveATenant) {
  const auto resolver = Behind({"::1"}, {.tenant = "x-org", .user = "x-user"});
  EXPECT_EQ(Told(ResolveNow(*resolver, RequestFrom("::1", {{"X-Org", "o"}, {"X-User", "u"}}))),
            R"(["o","u",null])");
  EXPECT_FALSE(ResolveNow(*resolver, RequestFrom("::1", {{"X-User", "u"}})));
}

TEST(HeaderResolverTest, ProxiesMustBeAddresses) {
  for (const std::vector<std::string>& proxies :
       std::vector<std::vector<std::string>>{{},
                                             {""},
                                             {"proxy"},
                                             {"10.0.0.0/33"},
                                             {"10.0.0.0/"},
                                             {"10.0.0.0/-1"},
                                             {"::/129"},
                                             {"10.0.0.0/8x"}}) {
    EXPECT_FALSE(
        HeaderResolver::Create({.headers = IdentityHeaders::FoundryV2(), .proxies = proxies}));
  }
}

}  // namespace
}  // namespace caisson
