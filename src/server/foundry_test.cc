#include "server/foundry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "identity/resolver_for_test.h"
#include "server/configured_identity.h"

namespace caisson {
namespace {

using testing::HasSubstr;

const EnvironmentMap kHosted = {{"FOUNDRY_HOSTING_ENVIRONMENT", "1"}};

EnvironmentMap HostedWith(std::string name, std::string value) {
  EnvironmentMap environment = kHosted;
  environment.emplace(std::move(name), std::move(value));
  return environment;
}

Result<Identity> Resolve(const Config& config, RequestOrigin request) {
  const SystemClock clock;
  const auto resolver = MakeIdentityResolver(config.identity, "", {}, clock);
  if (!resolver) return resolver.error();
  return ResolveNow(**resolver, std::move(request));
}

TEST(Foundry, OtherServersDoNotReadItsVariables) {
  EXPECT_FALSE(ReadFoundryHosting({{"PORT", "nonsense"}})->has_value());
  EXPECT_FALSE(ReadFoundryHosting({{"FOUNDRY_HOSTING_ENVIRONMENT", ""}})->has_value());
}

TEST(Foundry, AHostedServerListensOnThePortOfThePlatform) {
  Config config;
  ASSERT_TRUE(ServeFoundry(**ReadFoundryHosting(kHosted), config));
  EXPECT_EQ(config.server.listen, "0.0.0.0:8088");
  Config other;
  ASSERT_TRUE(ServeFoundry(**ReadFoundryHosting(HostedWith("PORT", "9000")), other));
  EXPECT_EQ(other.server.listen, "0.0.0.0:9000");
  Config chosen;
  chosen.server.listen = "127.0.0.1:1";
  ASSERT_TRUE(ServeFoundry(**ReadFoundryHosting(kHosted), chosen));
  EXPECT_EQ(chosen.server.listen, "127.0.0.1:1");
}

TEST(Foundry, AWrongVariableStopsTheStart) {
  for (const char* port : {"0", "65536", "-1", "80a", " 80"}) {
    const auto hosting = ReadFoundryHosting(HostedWith("PORT", port));
    ASSERT_FALSE(hosting) << port;
    EXPECT_THAT(hosting.error().message(), HasSubstr("PORT"));
  }
  EXPECT_FALSE(ReadFoundryHosting(HostedWith("FOUNDRY_AGENT_SESSION_ID", "../x")));
  EXPECT_FALSE(ReadFoundryHosting(HostedWith("FOUNDRY_AGENT_NAME", std::string(129, 'a'))));
}

TEST(Foundry, ThePlatformNamesTheUser) {
  Config config;
  ASSERT_TRUE(ServeFoundry({}, config));
  const auto ann = Resolve(config, RequestFrom("10.0.0.1", {{"x-agent-user-id", "ann"}}));
  ASSERT_TRUE(ann);
  EXPECT_EQ(ann->user(), "ann");
}

// Fail closed.
TEST(Foundry, ARequestWithoutAUserIsRefused) {
  Config config;
  ASSERT_TRUE(ServeFoundry({}, config));
  EXPECT_FALSE(Resolve(config, RequestFrom("10.0.0.1")));
  EXPECT_FALSE(Resolve(config, RequestFrom("10.0.0.1", {{"x-agent-user-id", ""}})));
  EXPECT_FALSE(Resolve(config, RequestFrom("10.0.0.1", {{"x-agent-user-id", " \t"}})));
  EXPECT_FALSE(Resolve(config, RequestFrom("203.0.113.7", {{"x-agent-user-id", "ann"}})))
      << "it did not come through the platform";
}

TEST(Foundry, AConfigurationThatAllowsNoIdentityIsRefused) {
  Config config;
  config.identity.strict_isolation = false;
  const auto served = ServeFoundry({}, config);
  ASSERT_FALSE(served);
  EXPECT_THAT(served.error().message(), HasSubstr("strict_isolation"));
}

TEST(Foundry, AnotherIdentityModeStays) {
  Config config;
  config.identity.mode = IdentityMode::kKeys;
  ASSERT_TRUE(ServeFoundry({}, config));
  EXPECT_EQ(config.identity.mode, IdentityMode::kKeys);
}

}  // namespace
}  // namespace caisson
