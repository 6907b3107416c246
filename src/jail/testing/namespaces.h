// Skips tests that need namespaces where the machine refuses them, as Docker's default profile
// does.
//
// Trust     Asks the kernel itself, not the product: a fault of ours in tier namespace still fails
//           its tests.
// Threads   Any; asks once.
// Lifetime  Static.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

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

// Ends the running test as skipped if namespaces are refused. The exception is gtest's own, which
// it takes as "already reported": it leaves fixtures and functions that return a value, where
// GTEST_SKIP cannot be used.
inline void SkipWithoutNamespaces() {
  const int error_number = ErrorOfNamespaces();
  if (error_number == 0) return;
  const std::string reason =
      std::string("namespaces are refused here (unshare: ") + std::strerror(error_number) + ")";
  [&] { GTEST_SKIP() << reason; }();
  throw ::testing::AssertionException(::testing::TestPartResult(
      ::testing::TestPartResult::kSkip, __FILE__, __LINE__, reason.c_str()));
}

}  // namespace caisson::jail
