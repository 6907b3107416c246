#include "server/configured_agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <fstream>

#include "server/agent_settings.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;

class ConfiguredAgentsTest : public ::testing::Test {
 protected:
  Result<std::vector<std::shared_ptr<const Agent>>> Make(std::string_view toml) {
    auto config = ParseConfig(toml, "test.toml");
    if (!config) return std::move(config).error();
    config->directory = ::testing::TempDir();
    const EnvironmentMap environment{{"MODEL_KEY", "key-12345678"}, {"HTTPS_PROXY", proxy_}};
    AgentResources resources{
        .pool = context_.get_executor(), .environment = environment, .settings = {}};
    for (const AgentConfig& agent : config->agents) {
      resources.settings.emplace(AgentSettingName(agent.name),
                                 std::make_shared<const CodeSetting>());
    }
    return MakeAgents(*config, resources);
  }

  std::string Mistake(std::string_view toml) {
    const auto made = Make(toml);
    return made ? "" : made.error().message();
  }

  asio::io_context context_;
  std::string proxy_;
};

TEST_F(ConfiguredAgentsTest, AgentsHaveWhatTheirTablesSay) {
  std::ofstream(::testing::TempDir() + "/coder.md") << "Write short code.\n";
  const auto agents = Make(R"(
[[model]]
name = "main"
kind = "demo"
[[agent]]
name = "coder"
description = "Writes code."
model = "main"
instructions_file = "coder.md"
turn = { iterations = 7, calls = 9, wall_seconds = 1.5 }
[[agent]]
name = "caller"
model = "main"
instructions = "Call tools."
code = false
)");
  ASSERT_TRUE(agents) << agents.error().message();
  ASSERT_EQ(agents->size(), 2u);
  const Agent& coder = *agents->at(0);
  EXPECT_EQ(coder.name, "coder");
  EXPECT_EQ(coder.description, "Writes code.");
  EXPECT_EQ(coder.instructions, "Write short code.\n");
  EXPECT_EQ(coder.code, Agent::Code::kOn);
  EXPECT_EQ(coder.limits.iterations, 7u);
  EXPECT_EQ(coder.limits.calls, 9u);
  EXPECT_EQ(coder.limits.wall, std::chrono::seconds(2));
  EXPECT_EQ(coder.limits.consecutive_errors, TurnLimits().consecutive_errors);
  const Agent& caller = *agents->at(1);
  EXPECT_EQ(caller.instructions, "Call tools.");
  EXPECT_EQ(caller.code, Agent::Code::kOff);
  EXPECT_EQ(caller.model, coder.model);
}

TEST_F(ConfiguredAgentsTest, MistakesNameTheTable) {
  const std::string agent = "[[agent]]\nname = \"a\"\nmodel = \"m\"\n";
  EXPECT_THAT(Mistake("[[model]]\nname = \"m\"\nkind = \"demo\"\nkey_env = \"NOT_SET\"\n" + agent),
              HasSubstr("[[model]] m: the environment variable NOT_SET is not set"));
  EXPECT_THAT(Mistake("[[model]]\nname = \"m\"\nkind = \"demo\"\n" + agent +
                      "instructions_file = \"none.md\"\n"),
              HasSubstr("[[agent]] a: cannot read none.md"));
}

TEST_F(ConfiguredAgentsTest, AKeyIsNeverPartOfAMistake) {
  const std::string mistake = Mistake(
      "[[model]]\nname = \"m\"\nkind = \"openai-chat\"\nmodel = \"x\"\n"
      "base_url = \"http://\"\nkey_env = \"MODEL_KEY\"\n");
  EXPECT_THAT(mistake, HasSubstr("[[model]] m"));
  EXPECT_THAT(mistake, ::testing::Not(HasSubstr("key-12345678")));
}

TEST_F(ConfiguredAgentsTest, TheProxyOfTheEnvironmentMustBeUsable) {
  proxy_ = "socks5://ann:password@proxy:1";
  const std::string model = "[[model]]\nname = \"m\"\nkind = \"openai-chat\"\nmodel = \"x\"\n";
  const std::string mistake = Mistake(model);
  EXPECT_THAT(mistake, HasSubstr("[[model]] m: HTTPS_PROXY has a scheme other than http"));
  EXPECT_THAT(mistake, ::testing::Not(HasSubstr("password")));
  EXPECT_EQ(Mistake(model + "base_url = \"http://127.0.0.1:1/v1\"\n"), "");
  proxy_ = "http://proxy:3128";
  EXPECT_EQ(Mistake(model), "");
}

TEST_F(ConfiguredAgentsTest, InstructionsOfMoreThanAQuarterMebibyteAreRefused) {
  std::ofstream(::testing::TempDir() + "/long.md") << std::string((256u << 10) + 1, 'x');
  EXPECT_THAT(Mistake("[[model]]\nname = \"m\"\nkind = \"demo\"\n[[agent]]\nname = \"a\"\n"
                      "model = \"m\"\ninstructions_file = \"long.md\"\n"),
              HasSubstr("long.md is too long"));
}

}  // namespace
}  // namespace caisson
