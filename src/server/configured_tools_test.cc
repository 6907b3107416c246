#include "server/configured_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <optional>

#include "base/spawn.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ConfiguredToolsTest : public ::testing::Test {
 protected:
  Result<std::vector<std::shared_ptr<const Tool>>> Make(std::string_view toml) {
    auto config = ParseConfig(toml, "test.toml");
    if (!config) return std::move(config).error();
    config->directory = ::testing::TempDir();
    return MakeTools(*config, {.io = context_.get_executor(),
                               .pool = context_.get_executor(),
                               .host = host_,
                               .log = [](std::string_view) {}});
  }

  std::string Mistake(std::string_view toml) {
    const auto made = Make(toml);
    return made ? "" : made.error().message();
  }

  CallerHost host_{{{"TOKEN", "tok-12345678"}, {"PATH", "/usr/bin:/bin"}}};
  asio::io_context context_;
};

TEST_F(ConfiguredToolsTest, ACommandBesideTheFileIsRunWithItsOwnEnvironment) {
  const auto tools = Make(R"(
[[tool]]
name = "where"
kind = "command"
command = ["sh", "-c", "echo \"\\\"$MODE $TOKEN $PWD\\\"\""]
inherit_env = ["PATH"]
env = { MODE = "live" }
)");
  ASSERT_TRUE(tools) << tools.error().message();
  ToolRun run;
  std::optional<Result<ToolAnswer>> answer;
  Spawn(context_.get_executor(), [&]() -> asio::awaitable<void> {
    answer.emplace(co_await tools->at(0)->InvokeRaw({}, run));
  });
  context_.run();
  const std::string directory = std::filesystem::canonical(::testing::TempDir()).string();
  EXPECT_EQ(std::get<Value>(**answer), Value("live  " + directory));
}

TEST_F(ConfiguredToolsTest, TheRulesOfTheFileAreTheTools) {
  const auto tools = Make(R"(
[[tool]]
name = "send"
kind = "command"
command = ["true"]
approval = "always"
idempotent = true
max_calls = 3
[[tool]]
name = "fetch"
kind = "http"
description = "Fetches."
[[tool.allow]]
url = "https://api.example.com/v1"
methods = ["GET"]
[[tool.allow.header]]
name = "Authorization"
prefix = "Bearer "
value_env = "TOKEN"
)");
  ASSERT_TRUE(tools) << tools.error().message();
  EXPECT_TRUE(tools->at(0)->NeedsApproval({}));
  EXPECT_EQ(tools->at(0)->definition().max_calls_per_run, 3u);
  EXPECT_EQ(tools->at(0)->definition().repeat, Repeat::kIdempotent);
  const std::string shown = tools->at(1)->signature().Text();
  EXPECT_THAT(shown, HasSubstr("GET https://api.example.com/v1"));
  EXPECT_THAT(shown, Not(HasSubstr("tok-")));
}

TEST_F(ConfiguredToolsTest, SaysWhichToolCannotBeMade) {
  EXPECT_THAT(Mistake("[[tool]]\nname = \"a b\"\nkind = \"command\"\ncommand = [\"x\"]\n"),
              HasSubstr("[[tool]] a b: tool \"a b\""));
  EXPECT_THAT(
      Mistake("[[tool]]\nname = \"f\"\nkind = \"http\"\n[[tool.allow]]\nurl = \"example.com\"\n"
              "methods = [\"GET\"]\n"),
      HasSubstr("rule for \"example.com\""));
  EXPECT_THAT(
      Mistake(
          "[[tool]]\nname = \"f\"\nkind = \"http\"\n[[tool.allow]]\nurl = \"https://a.com\"\n"
          "methods = [\"GET\"]\n[[tool.allow.header]]\nname = \"X\"\nvalue_env = \"NOT_SET\"\n"),
      HasSubstr("NOT_SET is not set"));
}

}  // namespace
}  // namespace caisson
