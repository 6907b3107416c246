#include "server/demo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DemoTest, AddsAnAgentWithItsModelAndKeepsEverythingInMemory) {
  Config config;
  ASSERT_TRUE(AddDemo(config));
  EXPECT_EQ(config.store.url, "memory:");
  EXPECT_EQ(config.models.at(0).kind, ModelConfig::Kind::kDemo);
  EXPECT_EQ(config.agents.at(0).name, "demo");
  EXPECT_EQ(config.agents.at(0).model, "demo");
  EXPECT_THAT(config.agents.at(0).tools, ElementsAre("weather", "send_email"));
}

TEST(DemoTest, KeepsAConfiguredStore) {
  Config config;
  config.store = {.url = "sqlite:mine.db", .is_configured = true};
  ASSERT_TRUE(AddDemo(config));
  EXPECT_EQ(config.store.url, "sqlite:mine.db");
}

TEST(DemoTest, RefusesAConfigurationThatHasTheNames) {
  Config config;
  config.agents.push_back({.name = "demo", .model = "x"});
  const auto added = AddDemo(config);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message(), HasSubstr("an entry [[agent]] named \"demo\""));
}

TEST(DemoTest, OnlyTheEmailNeedsAnApproval) {
  const auto tools = DemoTools();
  ASSERT_TRUE(tools) << tools.error().message();
  EXPECT_FALSE(tools->at(0)->NeedsApproval({}));
  EXPECT_TRUE(tools->at(1)->NeedsApproval({}));
}

}  // namespace
}  // namespace caisson
