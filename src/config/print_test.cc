#include "config/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PrintConfigTest, ShowsWhereSecretsAreAndNoSecret) {
  const auto printed = PrintConfig(R"(
[store]
url = "postgres://ann:hun@ter2@db.example/caisson?sslpassword=hunter2"
[[upstream]]
name = "up"
url = "https://up.example/mcp?token=hunter2"
bearer_env = "UP_TOKEN"
[[tool]]
name = "send"
kind = "command"
command = ["./send.py"]
env = { TOKEN = "hunter2" }
)",
                                   "caisson.toml");
  ASSERT_TRUE(printed) << printed.error().message();
  EXPECT_THAT(*printed, Not(HasSubstr("ter2")));
  EXPECT_THAT(*printed, HasSubstr("postgres://ann:***@db.example/caisson?***"));
  EXPECT_THAT(*printed, HasSubstr("UP_TOKEN"));
  EXPECT_THAT(*printed, HasSubstr("TOKEN = "));
}

TEST(PrintConfigTest, ThePrintedFileParsesToTheSameConfig) {
  const auto once =
      PrintConfig("[limits]\nwall_seconds = 5\n[[mount]]\nhost='d'\nguest='/input'\n", "a");
  ASSERT_TRUE(once) << once.error().message();
  EXPECT_EQ(*PrintConfig(*once, "b"), *once);
}

TEST(PrintConfigTest, MistakesAreTold) {
  const auto printed = PrintConfig("[limits]\nwall = 5\n", "a.toml");
  ASSERT_FALSE(printed);
  EXPECT_THAT(printed.error().message(), HasSubstr("a.toml:2"));
}

}  // namespace
}  // namespace caisson
