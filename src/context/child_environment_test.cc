#include "context/child_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const HostVariables kHost = {{"PATH", "/bin"}, {"API_KEY", "secret"}, {"LANG", "C"}};

// I1.
TEST(ChildEnvironmentTest, StartsFromNothing) {
  EXPECT_THAT(ChildEnvironment().entries(), IsEmpty());
  EXPECT_THAT(ChildEnvironment::Build({}, kHost)->entries(), IsEmpty());
}

TEST(ChildEnvironmentTest, TakesOnlyWhatIsNamed) {
  const auto built = ChildEnvironment::Build(
      {.inherited = {"PATH", "LANG", "NOT_THERE"}, .set = {{"MODE", "a=b"}, {"LANG", "de"}}},
      kHost);
  EXPECT_THAT(built->entries(), ElementsAre("LANG=de", "MODE=a=b", "PATH=/bin"));
}

TEST(ChildEnvironmentTest, RefusesWhatNoEnvironmentHolds) {
  const auto refuses = [](ChildEnvironment::Recipe recipe) {
    return !ChildEnvironment::Build(recipe, kHost).has_value();
  };
  EXPECT_TRUE(refuses({.set = {{"", "x"}}}));
  EXPECT_TRUE(refuses({.set = {{"A=B", "x"}}}));
  EXPECT_TRUE(refuses({.set = {{std::string("A\0B", 3), "x"}}}));
  EXPECT_TRUE(refuses({.set = {{"A", std::string("x\0LD_PRELOAD=y", 14)}}}));
  EXPECT_TRUE(refuses({.set = {{"A", "1"}, {"A", "2"}}}));
  EXPECT_TRUE(refuses({.inherited = {"A=B"}}));
}

TEST(ChildEnvironmentTest, TheLoadersVariablesAreNotInherited) {
  const HostVariables host = {{"LD_PRELOAD", "/evil.so"}};
  EXPECT_FALSE(ChildEnvironment::Build({.inherited = {"LD_PRELOAD"}}, host));
  EXPECT_THAT(ChildEnvironment::Build({.set = {{"LD_LIBRARY_PATH", "/opt"}}}, host)->entries(),
              ElementsAre("LD_LIBRARY_PATH=/opt"));
}

TEST(ChildEnvironmentTest, ReadsTheHostsOwn) {
  ::setenv("CAISSON_TEST_VARIABLE", "x=y", 1);  // Before any thread of this test starts.
  EXPECT_THAT(TakeHostVariables(),
              Contains(std::pair<const std::string, std::string>("CAISSON_TEST_VARIABLE", "x=y")));
}

}  // namespace
}  // namespace caisson
