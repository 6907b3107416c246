#include "caller/child_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using enum CallerVariable;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

const std::string kChat = EnvironmentName(kChatId);
const std::string kThread = EnvironmentName(kThreadId);

std::vector<std::string> Built(const CallerContext& caller, const ChildVariables& variables = {}) {
  const auto environment = ChildEnvironment::Build(caller, variables);
  EXPECT_TRUE(environment) << environment.error().message();
  return environment->entries();
}

TEST(ChildEnvironmentTest, OnlyListedVariablesAreInherited) {
  CallerHost host(
      {{"PATH", "/bin"}, {"LC_ALL", "C"}, {"LCX", "no"}, {"HOME", "/root"}, {"lang", "x"}});
  const CallerContext caller(host);
  EXPECT_THAT(Built(caller), ElementsAre("LC_ALL=C", "PATH=/bin"));
  EXPECT_THAT(Built(caller, {.inherit = {}}), ElementsAre());
}

TEST(ChildEnvironmentTest, OwnVariablesWinOverInheritedOnes) {
  CallerHost host({{"PATH", "/bin"}});
  EXPECT_THAT(Built(CallerContext(host), {.own = {{"PATH", "/opt"}, {"MODE", ""}}}),
              ElementsAre("MODE=", "PATH=/opt"));
}

TEST(ChildEnvironmentTest, CredentialsAndLoadersAreNotInheritedEvenIfListed) {
  EnvironmentMap start;
  for (const char* name : {"GH_TOKEN",
                           "GITHUB_TOKEN",
                           "GITHUB_APP_ID",
                           "TELEGRAM_BOT_TOKEN",
                           "SLACK_SIGNING_SECRET",
                           "GATEWAY_ALLOWED_USERS",
                           "GATEWAY_RELAY_ID",
                           "HASS_TOKEN",
                           "EMAIL_PASSWORD",
                           "MODAL_TOKEN_ID",
                           "AUXILIARY_X_BASE_URL",
                           "gateway_relay_a_key",
                           "OPENAI_API_KEY",
                           "OPENAI_BASE_URL",
                           "ANTHROPIC_BASE_URL",
                           "GOOGLE_APPLICATION_CREDENTIALS",
                           "AWS_SECRET_ACCESS_KEY",
                           "VERCEL_OIDC_TOKEN",
                           "DATABASE_DSN",
                           "SSH_AUTH_SOCK",
                           "ANN_KEY",
                           "CAISSON_SEAL",
                           "SUDO_PASSWORD",
                           "VIRTUAL_ENV",
                           "PYTHONHOME",
                           "PYTHONPATH",
                           "LD_PRELOAD",
                           "BASH_ENV"}) {
    start.emplace(name, "secret");
  }
  CallerHost host(start);
  ChildVariables greedy{.inherit = {"*"}};
  for (const auto& entry : start) greedy.inherit.push_back(entry.first);
  EXPECT_THAT(Built(CallerContext(host), greedy), ElementsAre());
}

TEST(ChildEnvironmentTest, ACredentialOfTheToolItselfIsGivenToIt) {
  CallerHost host({});
  EXPECT_THAT(Built(CallerContext(host), {.own = {{"MAIL_TOKEN", "t"}}}),
              ElementsAre("MAIL_TOKEN=t"));
}

// AC-14, AC-15: there is one builder, so there is one path to test.
TEST(ChildEnvironmentTest, UnsetVariablesAreRemovedAfterEngagement) {
  CallerHost host({{kChat, "foreign"}});
  CallerContext somebody(host);
  somebody.Bind({});
  const CallerContext caller(host);
  EXPECT_THAT(Built(caller, {.inherit = {"*"}, .own = {{kThread, "also foreign"}}}), ElementsAre());
}

// AC-16, AC-17
TEST(ChildEnvironmentTest, BoundWinsEvenIfEmpty) {
  CallerHost host({{kChat, "foreign"}, {kThread, "stale"}});
  CallerContext caller(host);
  caller.Bind({.values = {{kChatId, "mine"}}});
  const auto entries = Built(caller, {.inherit = {"*"}, .own = {{kChat, "forged"}}});
  EXPECT_THAT(entries, Contains(kChat + "=mine"));
  EXPECT_THAT(entries, Contains(kThread + "="));
}

// AC-18
TEST(ChildEnvironmentTest, WithoutEngagementTheStartEnvironmentIsKept) {
  CallerHost host({{kChat, "mine"}, {kThread, "7"}});
  CallerContext caller(host);
  caller.Set(kThreadId, "8");
  EXPECT_THAT(Built(caller), ElementsAre(kChat + "=mine", kThread + "=8"));
}

TEST(ChildEnvironmentTest, OtherVariablesWithThePrefixAreRemoved) {
  CallerHost host({{"CAISSON_SESSION_ADMIN", "1"}});
  EXPECT_THAT(
      Built(CallerContext(host), {.inherit = {"*"}, .own = {{"CAISSON_SESSION_ROOT", "1"}}}),
      ElementsAre());
}

// AC-23: a resumed session exists while another one's turn runs.
TEST(ChildEnvironmentTest, ALiveSessionIsInvisibleToAnother) {
  CallerHost host({});
  CallerContext a(host);
  a.Bind({.values = {{kChatId, "A"}}});
  CallerContext b(host);
  EXPECT_THAT(Built(b), Not(Contains(testing::StartsWith(kChat))));
  b.Bind({.values = {{kChatId, "B"}}});
  EXPECT_THAT(Built(b), Contains(kChat + "=B"));
  EXPECT_THAT(Built(a), Contains(kChat + "=A"));
}

// AC-20
TEST(ChildEnvironmentTest, AHostileNameStaysOneValue) {
  std::string name = "x'; touch /tmp/owned\n$(id)`id`\"\\\nCAISSON_SESSION_USER_ID=root\n";
  while (name.size() < 100'000) name += "'\"\n$&|;<>";
  CallerHost host({});
  CallerContext caller(host);
  caller.Bind({.values = {{kChatName, name}}});
  const auto entries = Built(caller);
  EXPECT_THAT(entries, Contains(EnvironmentName(kChatName) + "=" + name));
  EXPECT_THAT(entries, Contains(EnvironmentName(kUserId) + "="));
}

TEST(ChildEnvironmentTest, InvalidNamesAndValuesAreRefused) {
  CallerHost host({});
  CallerContext caller(host);
  EXPECT_FALSE(ChildEnvironment::Build(caller, {.own = {{"", "x"}}}));
  EXPECT_FALSE(ChildEnvironment::Build(caller, {.own = {{"A=B", "x"}}}));
  EXPECT_FALSE(ChildEnvironment::Build(caller, {.own = {{std::string("A\0B", 3), "x"}}}));
  EXPECT_FALSE(ChildEnvironment::Build(caller, {.own = {{"A", std::string("x\0y", 3)}}}));
  EXPECT_TRUE(ChildEnvironment::Build(caller, {.own = {{"A", std::string(128 * 1024 - 3, 'x')}}}));
  EXPECT_FALSE(ChildEnvironment::Build(caller, {.own = {{"A", std::string(128 * 1024 - 2, 'x')}}}));
}

}  // namespace
}  // namespace caisson
