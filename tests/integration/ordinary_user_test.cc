// The suites again without privileges. Not as root, they run that way already.
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace caisson::testing {
namespace {

constexpr int kCannotStart = 77;
constexpr uid_t kNobody = 65534;

TEST(OrdinaryUserTest, TheSuitesPassAsNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: every suite runs as an ordinary user already";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) {
      ::_exit(kCannotStart);
    }
    ::execl("/proc/self/exe", "integration_test", "--gtest_brief=1",
            "--gtest_filter=EngineTest.*:ToolsTest.*:SessionsTest.*:SaveTest.ARestored*:"
            "DifferencesTest.*:IsolationTest.AnEngineLeavesNothing/*",
            nullptr);
    ::_exit(kCannotStart);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotStart)
    GTEST_SKIP() << "nobody may not read the build directory";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace caisson::testing
