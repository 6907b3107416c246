#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/print.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kModel = "[[model]]\nname = \"main\"\nkind = \"demo\"\n";

Config Parse(const std::string& text) {
  auto config = ParseConfig(text, "caisson.toml");
  if (!config) ADD_FAILURE() << config.error().message();
  return config ? *std::move(config) : Config();
}

std::string Mistakes(const std::string& text) {
  const auto config = ParseConfig(text, "caisson.toml");
  return config ? "" : config.error().message();
}

std::string WithModel(std::string_view rest) {
  return std::string(kModel) + std::string(rest);
}

TEST(AgentTablesTest, ReadsAllOfAModel) {
  const Config config = Parse(R"(
[[model]]
name = "main"
kind = "anthropic"
base_url = "https://models.example/v1"
model = "large-1"
key_env = "MODEL_KEY"
certificates = "ca.pem"
connect_seconds = 3
first_byte_seconds = 20.5
idle_seconds = 30
total_seconds = 200
attempts = 2
stream = false
plain_http = true
max_output_tokens = 4096
)");
  const ModelConfig& model = config.models.at(0);
  EXPECT_EQ(model.name, "main");
  EXPECT_EQ(model.kind, ModelConfig::Kind::kAnthropic);
  EXPECT_EQ(model.base_url, "https://models.example/v1");
  EXPECT_EQ(model.model, "large-1");
  EXPECT_EQ(model.key.environment, "MODEL_KEY");
  EXPECT_EQ(model.certificates, "ca.pem");
  EXPECT_EQ(model.connect, std::chrono::seconds(3));
  EXPECT_EQ(model.first_byte, std::chrono::milliseconds(20'500));
  EXPECT_EQ(model.idle, std::chrono::seconds(30));
  EXPECT_EQ(model.total, std::chrono::seconds(200));
  EXPECT_EQ(model.attempts, 2u);
  EXPECT_FALSE(model.stream);
  EXPECT_TRUE(model.plain_http);
  EXPECT_EQ(model.max_output_tokens, 4096u);
}

TEST(AgentTablesTest, ReadsAllOfAnAgentAndAWorkflow) {
  const Config config = Parse(WithModel(R"(
[limits]
wall_seconds = 5
cpu_seconds = 4
[[tool]]
name = "send"
kind = "command"
command = ["./send"]
[[upstream]]
name = "files"
url = "https://files.example/mcp"
[[agent]]
name = "analyst"
description = "Reads tables."
model = "main"
instructions = "Be brief."
code = false
tools = ["send"]
upstreams = ["files"]
approval = "always"
policy = { preset = "open" }
limits = { wall_seconds = 60 }
turn = { iterations = 5, consecutive_errors = 2, calls = 9, tokens = 1000, wall_seconds = 30 }
[[agent.mount]]
host = "data"
guest = "/input"
mode = "rw"
[[workflow]]
name = "report"
file = "report.toml"
)"));
  const AgentConfig& agent = config.agents.at(0);
  EXPECT_EQ(agent.name, "analyst");
  EXPECT_EQ(agent.description, "Reads tables.");
  EXPECT_EQ(agent.model, "main");
  EXPECT_EQ(agent.instructions, "Be brief.");
  EXPECT_FALSE(agent.code);
  EXPECT_THAT(agent.tools, ElementsAre("send"));
  EXPECT_THAT(agent.upstreams, ElementsAre("files"));
  EXPECT_EQ(agent.approval, AgentConfig::Approval::kAlways);
  EXPECT_EQ(agent.policy.value().preset, PolicyPreset::kOpen);
  EXPECT_EQ(agent.limits.value().wall_time, std::chrono::seconds(60));
  EXPECT_EQ(agent.limits.value().cpu_time, std::chrono::seconds(4));  // As in [limits].
  EXPECT_EQ(agent.turn.iterations, 5u);
  EXPECT_EQ(agent.turn.consecutive_errors, 2u);
  EXPECT_EQ(agent.turn.calls, 9u);
  EXPECT_EQ(agent.turn.tokens, 1000u);
  EXPECT_EQ(agent.turn.wall, std::chrono::seconds(30));
  EXPECT_EQ(agent.mounts.at(0).guest, "/input");
  EXPECT_EQ(agent.mounts.at(0).mode, MountMode::kReadWrite);
  EXPECT_EQ(config.workflows.at(0).name, "report");
  EXPECT_EQ(config.workflows.at(0).file, "report.toml");
}

TEST(AgentTablesTest, AnAgentHasOnlyWhatItNames) {
  const Config config =
      Parse(WithModel("[[tool]]\nname = \"send\"\nkind = \"command\"\ncommand = [\"x\"]\n"
                      "[[upstream]]\nname = \"files\"\nurl = \"https://files.example/mcp\"\n"
                      "[[mount]]\nhost = \"data\"\nguest = \"/input\"\n"
                      "[[agent]]\nname = \"a\"\nmodel = \"main\"\n"));
  const AgentConfig& agent = config.agents.at(0);
  EXPECT_TRUE(agent.code);
  EXPECT_TRUE(agent.tools.empty() && agent.upstreams.empty() && agent.mounts.empty());
  EXPECT_FALSE(agent.policy || agent.limits);
  EXPECT_EQ(agent.approval, AgentConfig::Approval::kTools);
}

TEST(AgentTablesTest, ReferencesToTablesThatDoNotExistAreNamed) {
  EXPECT_EQ(Mistakes(WithModel("[[tool]]\nname = \"send\"\nkind = \"command\"\ncommand = [\"x\"]\n"
                               "[[agent]]\nname = \"a\"\nmodel = \"mian\"\n"
                               "tools = [\"sent\"]\nupstreams = [\"files\"]\n")),
            "caisson.toml:10: agent[0].model names \"mian\", but there is no [[model]] of this "
            "name; did you mean \"main\"?\n"
            "caisson.toml:11: agent[0].tools names \"sent\", but there is no [[tool]] of this "
            "name; did you mean \"send\"?\n"
            "caisson.toml:12: agent[0].upstreams names \"files\", but there is no [[upstream]] of "
            "this name");
}

TEST(AgentTablesTest, UnknownKeysAreErrorsWithALine) {
  EXPECT_EQ(Mistakes(WithModel("modle = \"x\"\n")),
            "caisson.toml:4: model[0].modle is not known; did you mean \"model\"?");
  EXPECT_EQ(Mistakes(WithModel("[[agent]]\nname = \"a\"\nmodel = \"main\"\ntols = []\n")),
            "caisson.toml:7: agent[0].tols is not known; did you mean \"tools\"?");
  EXPECT_THAT(Mistakes(WithModel("[[agent]]\nname = \"a\"\nmodel = \"main\"\n"
                                 "[agent.turn]\nsteps = 1\n")),
              HasSubstr("caisson.toml:8: agent[0].turn.steps is not known"));
  EXPECT_THAT(Mistakes("[[workflow]]\nname = \"a\"\nfiles = \"x\"\n"),
              HasSubstr("workflow[0].files is not known"));
}

TEST(AgentTablesTest, LimitsOfAnAgentAreNeverAboveTheMaximum) {
  EXPECT_EQ(Mistakes(WithModel("[limits.max]\nwall_seconds = 20\n"
                               "[[agent]]\nname = \"a\"\nmodel = \"main\"\n"
                               "[agent.limits]\nwall_seconds = 21\n")),
            "caisson.toml:10: agent[0].limits: wall_seconds: 21 is not allowed; the maximum is 20 "
            "(limits.max.wall_seconds)");
}

TEST(AgentTablesTest, RefusesInvalidValues) {
  const std::string agent = WithModel("[[agent]]\nname = \"a\"\nmodel = \"main\"\n");
  for (const std::string& text : {
           std::string("[[model]]\nname = \"m\"\n"),
           std::string("[[model]]\nkind = \"demo\"\n"),
           std::string("[[model]]\nname = \"m\"\nkind = \"gpt\"\nmodel = \"x\"\n"),
           std::string("[[model]]\nname = \"m\"\nkind = \"anthropic\"\n"),
           WithModel("key = \"sk-123\"\n"),
           WithModel("key_env = \"A\"\nkey_file = \"b\"\n"),
           WithModel("base_url = \"ftp://x\"\n"),
           WithModel("base_url = \"https://ann:pw@x\"\n"),
           WithModel("total_seconds = 0\n"),
           WithModel("max_output_tokens = -1\n"),
           WithModel("attempts = 11\n"),
           WithModel(kModel),
           std::string("[[agent]]\nname = \"a\"\n"),
           WithModel("[[agent]]\nname = \"a/b\"\nmodel = \"main\"\n"),
           WithModel("[[agent]]\nname = \"..\"\nmodel = \"main\"\n"),
           WithModel("[[agent]]\nname = \"" + std::string(65, 'a') + "\"\nmodel = \"main\"\n"),
           agent + "[[agent]]\nname = \"a\"\nmodel = \"main\"\n",
           agent + "[[workflow]]\nname = \"a\"\nfile = \"a.toml\"\n",
           agent + "instructions = \"x\"\ninstructions_file = \"y\"\n",
           agent + "code = \"yes\"\n",
           agent + "approval = \"never\"\n",
           agent + "policy = { preset = \"none\" }\n",
           agent + "turn = { iterations = 0 }\n",
           agent + "turn = { calls = 10001 }\n",
           agent + "[[agent.mount]]\nhost = \"data\"\n",
           std::string("[[workflow]]\nname = \"w\"\n"),
       }) {
    EXPECT_NE(Mistakes(text), "") << text;
  }
}

TEST(AgentTablesTest, MountsOfAgentsAreCheckedByThemselves) {
  std::vector<std::size_t> asked;
  const ConfigChecks checks{.mounts = [&](std::span<const MountConfig> mounts, const Config&) {
    asked.push_back(mounts.size());
    std::vector<Result<void>> judged(mounts.size());
    if (!mounts.empty() && mounts[0].guest == "/bad") {
      judged[0] = Error(ErrorCode::kInvalidArgument, "not there");
    }
    return judged;
  }};
  const auto config = ParseConfig(WithModel("[[mount]]\nhost = \"x\"\nguest = \"/good\"\n"
                                            "[[agent]]\nname = \"a\"\nmodel = \"main\"\n"
                                            "[[agent.mount]]\nhost = \"x\"\nguest = \"/bad\"\n"),
                                  "caisson.toml", checks);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message(), "caisson.toml:10: agent[0].mount[0]: not there");
  EXPECT_THAT(asked, ElementsAre(1u, 1u));
}

TEST(AgentTablesTest, PrintShowsTheTablesWithoutSecrets) {
  const auto text = PrintConfig(
      WithModel("key_env = \"MODEL_KEY\"\nbase_url = \"https://models.example/v1?token=hunter2\"\n"
                "[[agent]]\nname = \"a\"\nmodel = \"main\"\n"),
      "caisson.toml");
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("MODEL_KEY"));
  EXPECT_THAT(*text, HasSubstr("name = 'a'"));
  EXPECT_THAT(*text, Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace caisson
