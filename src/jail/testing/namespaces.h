// Skips tests that need namespaces or CAP_SYS_ADMIN where the machine refuses them, as containers
// do.
//
// Trust     Asks the kernel itself, not the product: a fault of ours in tier namespace still fails
//           its tests.
// Threads   Any; asks once.
// Lifetime  Static.
#pragma once

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace caisson::jail {

// Returns the error of unshare() with all namespaces that tier namespace uses; 0 if it is allowed.
inline int ErrorOfNamespaces() {
  static const int error_number = [] {
    const pid_t child = ::fork();
    if (child == 0) {
      const int kinds = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC;
      ::_exit(::unshare(kinds) == 0 ? 0 : errno);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 0;
    return WEXITSTATUS(status);
  }();
  return error_number;
}

// Returns true for root of a container, who cannot mount anything or map owners of files.
inline bool IsRootWithoutSysAdmin() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  const bool is_known = ::syscall(SYS_capget, &header, data.data()) == 0;
  return ::geteuid() == 0 && is_known && (data[0].effective & (1U << CAP_SYS_ADMIN)) == 0;
}

// Ends the running test as skipped. The exception is gtest's own, which it takes as "already
// reported": it leaves fixtures and functions that return a value, where GTEST_SKIP cannot be used.
[[noreturn]] inline void SkipTest(const std::string& reason) {
  [&] { GTEST_SKIP() << reason; }();
  throw ::testing::AssertionException(::testing::TestPartResult(
      ::testing::TestPartResult::kSkip, __FILE__, __LINE__, reason.c_str()));
}

// Skips the running test if namespaces are refused.
inline void SkipWithoutNamespaces() {
  const int error_number = ErrorOfNamespaces();
  if (error_number == 0) return;
  SkipTest(std::string("namespaces are refused here (unshare: ") + std::strerror(error_number) +
           ")");
}

// Skips the running test unless this is root with CAP_SYS_ADMIN.
inline void SkipWithoutSysAdmin() {
  if (::geteuid() != 0) SkipTest("needs root");
  if (IsRootWithoutSysAdmin()) SkipTest("needs CAP_SYS_ADMIN");
}

// Skips the running test if native cells of this process cannot write to directories of its user.
inline void SkipIfOwnersCannotBeMapped() {
  if (IsRootWithoutSysAdmin()) {
    SkipTest("root without CAP_SYS_ADMIN cannot give its directories to native cells");
  }
}

}  // namespace caisson::jail
