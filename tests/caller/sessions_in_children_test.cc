// The environment of real child processes of many concurrent sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "caller/child_environment.h"
#include "jail/program.h"

namespace caisson {
namespace {

using enum CallerVariable;

constexpr int kSessions = 64;
constexpr int kSpawns = 200;

// Returns the session's variables that `env` prints.
std::vector<std::string> SeenByChild(const CallerContext& caller) {
  const auto environment = ChildEnvironment::Build(caller, {.inherit = {"*"}});
  EXPECT_TRUE(environment);
  const auto result =
      jail::RunProgram({.argv = {"/usr/bin/env", "-0"}, .environment = *environment});
  if (!result) {
    ADD_FAILURE() << result.error().message();
    return {};
  }
  std::vector<std::string> seen;
  std::string_view rest = result->output;
  for (std::size_t end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
    if (rest.starts_with(kSessionPrefix)) seen.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return seen;
}

// AC-24, and AC-14 in each of them before it binds.
TEST(SessionsInChildrenTest, NoChildShowsAnothersIdentity) {
  EnvironmentMap start = CaptureEnvironment();
  start[EnvironmentName(kChatId)] = "whoever started this program";
  CallerHost host(start);
  CallerContext first(host);
  first.Bind({.values = {{kKey, "first"}}});

  std::vector<std::jthread> sessions;
  for (int i = 0; i < kSessions; ++i) {
    sessions.emplace_back([&host, i] {
      const std::string who = std::to_string(i);
      for (int n = 0; n < kSpawns; ++n) {
        CallerContext caller(host);
        if (n % 20 == 0) {
          EXPECT_THAT(SeenByChild(caller), testing::IsEmpty());
        }
        caller.Bind({.values = {{kKey, "key-" + who}, {kChatId, "chat-" + who}, {kUserId, who}}});
        const auto seen = SeenByChild(caller);
        EXPECT_THAT(seen, testing::IsSupersetOf({EnvironmentName(kKey) + "=key-" + who,
                                                 EnvironmentName(kChatId) + "=chat-" + who,
                                                 EnvironmentName(kUserId) + "=" + who}));
        for (const std::string& entry : seen) {
          const std::string value = entry.substr(entry.find('=') + 1);
          EXPECT_TRUE(value.empty() || value.ends_with(who)) << entry;
        }
        if (testing::Test::HasFailure()) return;
      }
    });
  }
}

// AC-20, AC-72: also in a shell, which must not interpret a value.
TEST(SessionsInChildrenTest, AHostileNameIsDataInAShell) {
  std::string name = "x'; echo owned >&2\n$(kill $PPID)`kill $PPID`\"\\\nPATH=/evil\n";
  while (name.size() < 100'000) name += "'\"\n$&|;<>";
  CallerHost host({{"PATH", "/usr/bin:/bin"}});
  CallerContext caller(host);
  caller.Bind({.values = {{kChatName, name}, {kUserName, name}}});
  const auto environment = ChildEnvironment::Build(caller, {});
  ASSERT_TRUE(environment);
  const auto result = jail::RunProgram(
      {.argv = {"/bin/sh", "-c", "printf %s \"$CAISSON_SESSION_CHAT_NAME\"; echo \"$PATH\""},
       .environment = *environment});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->status, 0);
  EXPECT_EQ(result->output, name + "/usr/bin:/bin\n");
}

}  // namespace
}  // namespace caisson
