#include "server/foundry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using ::testing::HasSubstr;

Config Hosted() {
  Config config;
  config.server.foundry = true;
  config.identity.mode = IdentityMode::kHeaders;
  return config;
}

TEST(FoundryTest, ListensWhereThePlatformSays) {
  Config config = Hosted();
  ASSERT_TRUE(ApplyFoundry(config, {{"PORT", "9000"}}));
  EXPECT_EQ(config.server.listen, "0.0.0.0:9000");
  Config usual = Hosted();
  ASSERT_TRUE(ApplyFoundry(usual, {}));
  EXPECT_EQ(usual.server.listen, "0.0.0.0:8088");
}

TEST(FoundryTest, AConfiguredAddressComesFirst) {
  Config config = Hosted();
  config.server.listen = "127.0.0.1:0";
  config.server.is_listen_given = true;
  ASSERT_TRUE(ApplyFoundry(config, {{"PORT", "9000"}}));
  EXPECT_EQ(config.server.listen, "127.0.0.1:0");
}

TEST(FoundryTest, ModeLocalStaysOnThisMachine) {
  Config config = Hosted();
  config.identity.mode = IdentityMode::kLocal;
  ASSERT_TRUE(ApplyFoundry(config, {{"PORT", "9000"}}));
  EXPECT_EQ(config.server.listen, "127.0.0.1:9000");
}

TEST(FoundryTest, AWrongPortEndsTheStart) {
  for (const std::string port : {"0", "65536", "80x", "-1", " 80"}) {
    Config config = Hosted();
    const auto applied = ApplyFoundry(config, {{"PORT", port}});
    ASSERT_FALSE(applied) << port;
    EXPECT_THAT(applied.error().message(), HasSubstr("PORT"));
  }
}

TEST(FoundryTest, AHostedContainerWithoutIdentitiesDoesNotStart) {
  for (const IdentityMode mode : {IdentityMode::kLocal, IdentityMode::kKeys, IdentityMode::kJwt}) {
    Config config = Hosted();
    config.identity.mode = mode;
    EXPECT_FALSE(ApplyFoundry(config, {{"FOUNDRY_HOSTING_ENVIRONMENT", "1"}}));
  }
  Config loose = Hosted();
  loose.identity.strict_isolation = false;
  EXPECT_FALSE(ApplyFoundry(loose, {{"FOUNDRY_HOSTING_ENVIRONMENT", "1"}}));
  Config strict = Hosted();
  EXPECT_TRUE(ApplyFoundry(strict, {{"FOUNDRY_HOSTING_ENVIRONMENT", "1"}}));
}

TEST(FoundryTest, AHostedContainerNeedsTheCallIdOfThePlatform) {
  const EnvironmentMap hosted{{"FOUNDRY_HOSTING_ENVIRONMENT", "1"},
                              {"FOUNDRY_AGENT_NAME", "analyst"},
                              {"FOUNDRY_AGENT_VERSION", "3"},
                              {"FOUNDRY_AGENT_SESSION_ID", "s1"}};
  const auto options = ResponsesOptionsOf(Hosted(), hosted);
  EXPECT_EQ(options.required_header, "x-agent-foundry-call-id");
  EXPECT_EQ(options.server_name, "analyst/3");
  EXPECT_EQ(options.session, "s1");
  EXPECT_EQ(ResponsesOptionsOf(Hosted(), {}).required_header, "");
  EXPECT_EQ(ResponsesOptionsOf(Config(), hosted).required_header, "");
}

}  // namespace
}  // namespace caisson
