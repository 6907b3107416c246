#include "tools/http/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HttpProxy Proxy(std::string_view address, std::string_view direct = "") {
  auto proxy = HttpProxy::Parse(address, direct);
  EXPECT_TRUE(proxy && *proxy) << address;
  return **proxy;
}

bool Serves(std::string_view direct, std::string_view url) {
  return Proxy("proxy:3128", direct).Serves(*ParseHttpUrl(url));
}

TEST(HttpProxyTest, ThereIsNoneWithoutASetting) {
  EXPECT_FALSE(*HttpProxy::Parse("", "*"));
}

TEST(HttpProxyTest, ReadsTheUsualSpellings) {
  for (const std::string_view text : {"proxy:3128", "http://proxy:3128", "http://proxy:3128/"}) {
    EXPECT_EQ(Proxy(text).address().Authority(), "proxy:3128") << text;
  }
  EXPECT_EQ(Proxy("http://[fd00::1]:8080").address().host, "fd00::1");
}

TEST(HttpProxyTest, ReadsTheEnvironment) {
  EXPECT_FALSE(*HttpProxy::Read({{"HTTP_PROXY", "other:1"}}));
  const auto proxy = HttpProxy::Read(
      {{"HTTPS_PROXY", "big:1"}, {"https_proxy", "small:2"}, {"NO_PROXY", "a.example"}});
  ASSERT_TRUE(proxy && *proxy);
  EXPECT_EQ((*proxy)->address().Authority(), "small:2");
  EXPECT_FALSE((*proxy)->Serves(*ParseHttpUrl("https://a.example/")));
}

TEST(HttpProxyTest, AnErrorDoesNotRepeatThePassword) {
  for (const std::string_view text :
       {"https://ann:secret@proxy:1", "socks5://ann:secret@proxy:1", "ann:secret@pro xy:1"}) {
    const auto proxy = HttpProxy::Parse(text, "");
    ASSERT_FALSE(proxy) << text;
    EXPECT_THAT(proxy.error().message(), HasSubstr("HTTPS_PROXY"));
    EXPECT_THAT(proxy.error().message(), Not(HasSubstr("secret")));
  }
}

TEST(HttpProxyTest, AsksForTheServerByName) {
  EXPECT_EQ(Proxy("proxy:3128").ConnectRequest(*ParseHttpUrl("https://api.example.com/v1")),
            "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n");
  EXPECT_THAT(
      Proxy("http://ann:a%40b@proxy:1").ConnectRequest(*ParseHttpUrl("https://[2a00::1]:8443/")),
      HasSubstr("CONNECT [2a00::1]:8443 HTTP/1.1\r\nHost: [2a00::1]:8443\r\n"
                "Proxy-Authorization: Basic YW5uOmFAYg==\r\n"));
}

TEST(HttpProxyTest, PlainHttpAndLoopbackAreReachedDirectly) {
  EXPECT_TRUE(Serves("", "https://api.example.com/"));
  EXPECT_FALSE(Serves("", "http://api.example.com/"));
  EXPECT_FALSE(Serves("", "https://localhost/"));
  EXPECT_FALSE(Serves("", "https://127.0.0.1/"));
  EXPECT_FALSE(Serves("", "https://[::1]/"));
}

TEST(HttpProxyTest, ListedServersAreReachedDirectly) {
  EXPECT_FALSE(Serves("*", "https://api.example.com/"));
  constexpr std::string_view kList =
      "a.example, .b.example,*.c.example,D.example,10.0.0.0/8,,9.9.9.9";
  for (const std::string_view host : {"a.example", "x.a.example", "b.example", "x.b.example",
                                      "x.c.example", "d.example", "10.1.2.3", "9.9.9.9"}) {
    EXPECT_FALSE(Serves(kList, "https://" + std::string(host) + "/")) << host;
  }
  for (const std::string_view host : {"xa.example", "a.example.com", "11.0.0.1", "9.9.9.8"}) {
    EXPECT_TRUE(Serves(kList, "https://" + std::string(host) + "/")) << host;
  }
}

}  // namespace
}  // namespace caisson
