// Loads filters in separate processes and checks the effect on each call.
#include "jail/filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

namespace caisson::jail {
namespace {

using Op = ArgumentCheck::Op;

// Runs `body` in a child and returns its result: "ok", "errno N" or "signal N".
std::string InChild(const std::function<long()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const long result = body();
    ::syscall(SYS_exit_group, result >= 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "ok" : "errno " + std::to_string(WEXITSTATUS(status));
}

const std::vector<SyscallRule>& Rules() {
  static const std::vector<SyscallRule> kRules = {
      {.number = SYS_exit_group},
      {.number = SYS_seccomp},
      {.number = SYS_fcntl, .checks = {{1, Op::kEqual, F_GETFD}}},
      {.number = SYS_fcntl, .checks = {{1, Op::kEqual, F_GETFL}}, .error = EBUSY},
      {.number = SYS_fcntl, .error = EPERM},
      {.number = SYS_dup3, .checks = {{2, Op::kNoneOf, O_CLOEXEC}}},
      {.number = SYS_umask, .checks = {{0, Op::kAllOf, 0x100000003}}},
      {.number = SYS_close, .error = SyscallRule::kPretend},
      {.number = SYS_getppid, .error = ENOENT},
      {.number = SYS_getppid},
  };
  return kRules;
}

std::string Try(long number, long a = 0, long b = 0, long c = 0) {
  return InChild([=] {
    auto filter = Filter::Compile(Rules());
    if (!filter || !filter->Load()) return -1L;
    return ::syscall(number, a, b, c);
  });
}

TEST(FilterTest, TheFirstRuleThatHoldsDecides) {
  EXPECT_EQ(Try(SYS_fcntl, 0, F_GETFD), "ok");
  EXPECT_EQ(Try(SYS_fcntl, 0, F_GETFL), "errno " + std::to_string(EBUSY));
  EXPECT_EQ(Try(SYS_fcntl, 0, F_SETFL), "errno " + std::to_string(EPERM));
  EXPECT_EQ(Try(SYS_getppid), "errno " + std::to_string(ENOENT));
}

TEST(FilterTest, APretendedCallReturnsZeroWithoutBeingMade) {
  EXPECT_EQ(Try(SYS_close, 12345), "ok");  // There is no such descriptor.
}

TEST(FilterTest, ACallWithoutARuleKills) {
  EXPECT_EQ(Try(SYS_getpid), "signal 31");
  EXPECT_EQ(Try(SYS_dup3, 0, 99, O_CLOEXEC), "signal 31");
  EXPECT_EQ(Try(100'000), "signal 31");
}

TEST(FilterTest, AllSixtyFourBitsAreCompared) {
  EXPECT_EQ(Try(SYS_fcntl, 0, F_GETFD | 1L << 32), "errno " + std::to_string(EPERM));
  EXPECT_EQ(Try(SYS_dup3, 0, 99, 0), "ok");
  EXPECT_EQ(Try(SYS_umask, 0x100000003), "ok");
  EXPECT_EQ(Try(SYS_umask, 0x3), "signal 31");
  EXPECT_EQ(Try(SYS_umask, 0x100000001), "signal 31");
}

TEST(FilterTest, NumbersThatAreNoneAreRefused) {
  EXPECT_FALSE(Filter::Compile(std::vector<SyscallRule>{{.number = -1}}));
  EXPECT_FALSE(Filter::Compile(std::vector<SyscallRule>{{.number = 0x40000000}}));
}

// Loads the filter in parts: the calls to be dropped later work after the first part, and the whole
// filter holds after the second.
std::string TryInParts(int loaded, long number, long a = 0, long b = 0) {
  return InChild([=] {
    const std::vector<int> later = {SYS_fcntl, SYS_getpid, SYS_seccomp};
    auto parts = Filter::CompileInParts(Rules(), later);
    if (!parts || !parts->first.Load()) return -1L;
    if (loaded == 2 && !parts->second.Load()) return -1L;
    return ::syscall(number, a, b, 0);
  });
}

TEST(FilterTest, TwoPartsAreTogetherTheWhole) {
  EXPECT_EQ(TryInParts(1, SYS_getpid), "ok");
  EXPECT_EQ(TryInParts(1, SYS_fcntl, 0, F_SETFL), "ok");
  EXPECT_EQ(TryInParts(1, SYS_getuid), "signal 31");
  EXPECT_EQ(TryInParts(2, SYS_getpid), "signal 31");
  EXPECT_EQ(TryInParts(2, SYS_fcntl, 0, F_SETFL), "errno " + std::to_string(EPERM));
  EXPECT_EQ(TryInParts(2, SYS_fcntl, 0, F_GETFD), "ok");
  EXPECT_EQ(TryInParts(2, SYS_getuid), "signal 31");
  EXPECT_EQ(TryInParts(2, 0x40000000 | SYS_exit_group), "signal 31");
}

}  // namespace
}  // namespace caisson::jail
