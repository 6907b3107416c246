#include "server/configured_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using testing::HasSubstr;

Result<std::unique_ptr<IdentityResolver>> Make(std::string_view toml,
                                               const EnvironmentMap& environment = {}) {
  static const ManualClock clock;
  const auto config = ParseConfig(toml, "caisson.toml");
  if (!config) return config.error();
  return MakeIdentityResolver(config->identity, "", environment, clock);
}

constexpr std::string_view kKeys = R"(
[identity]
mode = "keys"
[[identity.key]]
tenant = "acme"
user = "ann"
value_env = "ANN_KEY"
)";

TEST(ConfiguredIdentity, KeysAreWhereTheConfigurationSays) {
  EXPECT_TRUE(Make(kKeys, {{"ANN_KEY", "0123456789abcdef"}}));
  const auto missing = Make(kKeys);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("the key of acme/ann"));
  EXPECT_THAT(missing.error().message(), HasSubstr("ANN_KEY is not set"));
  const auto weak = Make(kKeys, {{"ANN_KEY", "short"}});
  ASSERT_FALSE(weak);
  EXPECT_THAT(weak.error().message(), testing::Not(HasSubstr("short\"")));
}

TEST(ConfiguredIdentity, TokensNeedAKeyThatIsOne) {
  constexpr std::string_view kJwt = R"(
[identity]
mode = "jwt"
[identity.jwt]
issuer = "https://id.example"
audience = "caisson"
secret_env = "SECRET"
)";
  EXPECT_TRUE(Make(kJwt, {{"SECRET", std::string(32, 's')}}));
  const auto weak = Make(kJwt, {{"SECRET", "short"}});
  ASSERT_FALSE(weak);
  EXPECT_THAT(weak.error().message(), HasSubstr("identity.jwt"));
}

TEST(ConfiguredIdentity, ProxiesAreAddresses) {
  const std::string before =
      "[identity]\nmode = \"headers\"\n[identity.headers]\nuser = \"x-user\"\n";
  EXPECT_TRUE(Make(before + "proxies = [\"10.0.0.0/8\", \"::1\"]\n"));
  EXPECT_FALSE(Make(before + "proxies = [\"proxy.example\"]\n"));
}

TEST(ConfiguredIdentity, WithoutAModeItIsLocal) {
  EXPECT_TRUE(Make(""));
}

}  // namespace
}  // namespace caisson
