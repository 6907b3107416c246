#include "tests/integration/ordinary_user.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace caisson::testing {
namespace {

constexpr int kCannotStart = 77;
constexpr uid_t kNobody = 65534;

[[noreturn]] void BecomeNobodyAndTest(const std::string& filter) {
  const bool dropped =
      ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
  if (dropped) {
    ::execl("/proc/self/exe", "as_nobody", "--gtest_brief=1", ("--gtest_filter=" + filter).c_str(),
            nullptr);
  }
  ::_exit(kCannotStart);
}

}  // namespace

void ExpectPassAsNobody(const std::string& filter) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: every suite runs as an ordinary user already";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) BecomeNobodyAndTest(filter);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotStart) {
    GTEST_SKIP() << "nobody may not read the build directory";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace caisson::testing
