#include "server/agent_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const Tool> TestTool(std::string name, Approval approval = {}) {
  auto tool = Tool::Make({.name = std::move(name), .approval = std::move(approval)},
                         Inline([](const Dict&) { return Value("done"); }));
  return *tool;
}

class AgentSettingsTest : public ::testing::Test {
 protected:
  AgentSettingsTest() {
    setting_.tools = std::make_shared<const ToolSet>(
        std::vector{TestTool("add"), TestTool("send", Approval::Always()), TestTool("other")});
    setting_.limits.wall_time = std::chrono::seconds(3);
    setting_.mounts = {{.host = "/srv", .point = {.guest_path = "/input"}}};
  }

  Result<std::shared_ptr<const CodeSetting>> Make(AgentConfig agent) {
    const std::vector<AgentConfig> agents{std::move(agent)};
    TRY_ASSIGN(
        const auto settings,
        MakeAgentSettings(agents, {.setting = setting_, .upstreams = {}, .directory = "/etc/x"}));
    return settings.at("agent:a")->For(nullptr);
  }

  static std::vector<std::string> Names(const CodeSetting& setting) {
    std::vector<std::string> names;
    for (const auto& tool : setting.tools->tools()) names.push_back(tool->name());
    return names;
  }

  CodeSetting setting_;
};

TEST_F(AgentSettingsTest, AnAgentHasTheToolsThatItNamesInItsOrder) {
  const auto setting = Make({.name = "a", .model = "m", .tools = {"send", "add"}});
  ASSERT_TRUE(setting) << setting.error().message();
  EXPECT_THAT(Names(**setting), ElementsAre("send", "add"));
  EXPECT_EQ((*setting)->limits.wall_time, std::chrono::seconds(3));
}

TEST_F(AgentSettingsTest, AnAgentThatNamesNothingHasNeitherToolsNorMounts) {
  const auto setting = Make({.name = "a", .model = "m"});
  ASSERT_TRUE(setting) << setting.error().message();
  EXPECT_THAT(Names(**setting), ElementsAre());
  EXPECT_TRUE((*setting)->mounts.empty());
}

TEST_F(AgentSettingsTest, MountsAreRelativeToTheConfiguration) {
  const auto setting =
      Make({.name = "a", .model = "m", .mounts = {{.host = "data", .guest = "/data"}}});
  ASSERT_TRUE(setting) << setting.error().message();
  EXPECT_EQ((*setting)->mounts.at(0).host, "/etc/x/data");
}

TEST_F(AgentSettingsTest, ApprovalAlwaysAsksForEveryCall) {
  const auto setting = Make({.name = "a",
                             .model = "m",
                             .tools = {"add", "send"},
                             .approval = AgentConfig::Approval::kAlways});
  ASSERT_TRUE(setting) << setting.error().message();
  for (const auto& tool : (*setting)->tools->tools()) {
    EXPECT_TRUE(tool->NeedsApproval({})) << tool->name();
  }
  const auto usual = Make({.name = "a", .model = "m", .tools = {"add", "send"}});
  EXPECT_FALSE((*usual)->tools->Find("add")->NeedsApproval({}));
  EXPECT_TRUE((*usual)->tools->Find("send")->NeedsApproval({}));
}

TEST_F(AgentSettingsTest, MistakesNameTheAgent) {
  const auto mistake = [&](AgentConfig agent) {
    const auto made = Make(std::move(agent));
    return made ? "" : made.error().message();
  };
  EXPECT_EQ(mistake({.name = "a", .model = "m", .tools = {"sent"}}),
            "[[agent]] a: there is no tool \"sent\" in the configuration");
  EXPECT_EQ(mistake({.name = "a", .model = "m", .upstreams = {"files"}}),
            "[[agent]] a: there is no upstream \"files\" in the configuration");
  Limits limits;
  limits.wall_time = std::chrono::hours(24);
  EXPECT_THAT(mistake({.name = "a", .model = "m", .limits = limits}), HasSubstr("[[agent]] a"));
}

}  // namespace
}  // namespace caisson
