#include "tools/http/url.h"

#include <gtest/gtest.h>

#include "tools/http/address.h"

namespace caisson {
namespace {

std::string Read(std::string_view text) {
  const auto url = ParseHttpUrl(text);
  return url ? url->Text() : "refused";
}

TEST(HttpUrlTest, ParsesOrdinaryUrls) {
  EXPECT_EQ(Read("https://api.example.com"), "https://api.example.com/");
  EXPECT_EQ(Read("HTTP://API.Example.com:80/A/b?x=1&y=%20#frag"),
            "http://api.example.com/A/b?x=1&y=%20");
  EXPECT_EQ(Read("https://example.com:8443/"), "https://example.com:8443/");
  EXPECT_EQ(Read("https://93.184.216.34/x"), "https://93.184.216.34/x");
  EXPECT_EQ(Read("https://[2606:2800:0220:0001::]:444/"), "https://[2606:2800:220:1::]:444/");
  EXPECT_EQ(Read("https://xn--bcher-kva.example/"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(Read("https://example.com?q"), "https://example.com/?q");
  EXPECT_EQ(Read("https://example.com/a%2Fb/..c/.d"), "https://example.com/a%2Fb/..c/.d");
}

TEST(HttpUrlTest, RefusesAmbiguousUrls) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text :
       {""sv, "example.com"sv, "//example.com"sv, "ftp://example.com"sv, "file:///etc/passwd"sv,
        "https:/example.com"sv, "https:example.com"sv, "https://"sv, "https:///path"sv,
        "https://:443/"sv,
        // Ambiguous hosts.
        "https://user@evil.com/"sv, "https://good.com:pw@evil.com/"sv,
        "https://good.com@evil.com"sv, "https://evil.com\\@good.com/"sv,
        "https://good.com\\.evil.com/"sv, "https://good.com%2eevil.com/"sv,
        "https://evil\0.good.com/"sv, "https://good.com\0/"sv, "https://good.com\t/"sv,
        "https://good .com/"sv, "https://good.com\r\nHost: evil/"sv, " https://good.com/"sv,
        "https://good.com./"sv, "https://.good.com/"sv, "https://good..com/"sv,
        "https://-good.com/"sv, "https://go%6fd.com/"sv,
        "https://b\xc3\xbc"
        "cher.example/"sv,
        "https://\xe2\x93\x96ood.com/"sv, "https://good.com:/"sv,
        // Addresses in disguise.
        "http://2130706433/"sv, "http://0x7f000001/"sv, "http://017700000001/"sv, "http://127.1/"sv,
        "http://127.0.0.01/"sv, "http://0x7f.0.0.1/"sv, "http://127.0.0.1./"sv,
        "http://1.2.3.4.5/"sv, "http://256.1.1.1/"sv, "http://foo.0x10/"sv,
        "http://[::1%25eth0]/"sv, "http://[fe80::1%eth0]/"sv, "http://[::1/"sv, "http://[]/"sv,
        "http://[::g]/"sv, "http://[::1]x/"sv,
        // Ports.
        "http://a.com:0/"sv, "http://a.com:65536/"sv, "http://a.com:8 0/"sv, "http://a.com:+80/"sv,
        "http://a.com:080/"sv, "http://a.com:80:80/"sv,
        // Paths that climb.
        "http://a.com/v1/../admin"sv, "http://a.com/v1/.."sv, "http://a.com/v1/./x"sv,
        "http://a.com/v1/%2e%2e/admin"sv, "http://a.com/v1/.%2E/admin"sv,
        "http://a.com/v1/..%2fadmin"sv, "http://a.com/v1/%252e%252e/admin"sv,
        "http://a.com/v1/..;/admin"sv, "http://a.com/v1/%5c..%5cadmin"sv, "http://a.com/v1/%00"sv,
        "http://a.com/%"sv, "http://a.com/%zz"sv, "http://a.com/a b"sv,
        "http://a.com/%25252525252525252e"sv}) {
    EXPECT_EQ(Read(text), "refused") << text;
  }
  EXPECT_EQ(Read("http://a.com/" + std::string(10'000, 'x')), "refused");
  EXPECT_EQ(Read("http://" + std::string(300, 'x') + ".com/"), "refused");
}

TEST(HttpUrlTest, LocationsAreResolvedAgainstTheirUrl) {
  const HttpUrl base = *ParseHttpUrl("https://a.com:444/v1/x?q=1");
  const auto resolve = [&](std::string_view location) {
    const auto url = ResolveLocation(base, location);
    return url ? url->Text() : "refused";
  };
  EXPECT_EQ(resolve("/y"), "https://a.com:444/y");
  EXPECT_EQ(resolve("y?z"), "https://a.com:444/v1/y?z");
  EXPECT_EQ(resolve("?z"), "https://a.com:444/v1/x?z");
  EXPECT_EQ(resolve("//b.com/y"), "https://b.com/y");
  EXPECT_EQ(resolve("http://b.com/y:z"), "http://b.com/y:z");
  EXPECT_EQ(resolve("/y:z"), "https://a.com:444/y:z");
  EXPECT_EQ(resolve("javascript:alert(1)"), "refused");
  EXPECT_EQ(resolve("../admin"), "refused");
  EXPECT_EQ(resolve("/a\\b"), "refused");
  EXPECT_EQ(resolve("\\\\evil.com"), "refused");
}

TEST(AddressTest, OnlyThePublicInternetIsPublic) {
  const auto is_public = [](const char* text) {
    return IsPublicAddress(boost::asio::ip::make_address(text));
  };
  for (const auto* text :
       {"93.184.216.34", "8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.255.255",
        "100.128.0.0", "169.253.0.1", "2606:4700::1111", "2a00:1450::1", "2001:4860::8888"}) {
    EXPECT_TRUE(is_public(text)) << text;
  }
  for (const auto* text : {"0.0.0.0",
                           "0.1.2.3",
                           "10.0.0.1",
                           "10.255.255.255",
                           "100.64.0.1",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.254",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.0.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "198.51.100.1",
                           "203.0.113.1",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:8.8.8.8",
                           "::ffff:127.0.0.1",
                           "::8.8.8.8",
                           "64:ff9b::808:808",
                           "64:ff9b:1::1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "2001::1",
                           "2001:db8::1",
                           "2001:10::1",
                           "2002:7f00:1::1",
                           "3fff::1",
                           "100::1",
                           "4000::1"}) {
    EXPECT_FALSE(is_public(text)) << text;
  }
}

}  // namespace
}  // namespace caisson
