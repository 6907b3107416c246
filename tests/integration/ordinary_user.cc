#include "tests/integration/ordinary_user.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <string_view>

#include "base/unique_fd.h"

namespace caisson::testing {
namespace {

constexpr int kCannotStart = 77;
constexpr uid_t kNobody = 65534;

[[noreturn]] void BecomeNobodyAndTest(const std::string& filter, int output) {
  const bool dropped = ::dup2(output, STDOUT_FILENO) == STDOUT_FILENO &&
                       ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 &&
                       ::setuid(kNobody) == 0;
  if (dropped) {
    ::execl("/proc/self/exe", "as_nobody", "--gtest_brief=1", ("--gtest_filter=" + filter).c_str(),
            nullptr);
  }
  ::_exit(kCannotStart);
}

// Prints the output of the tests without the mark by which ctest recognises a skipped test: a
// skipped test among them does not mean that this one was skipped; it may have failed.
void Show(int output) {
  constexpr std::string_view kMark = "[  SKIPPED ]";
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = ::read(output, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  for (std::size_t at = 0; (at = text.find(kMark, at)) != std::string::npos;) {
    text.replace(at, kMark.size(), "[ left out ]");
  }
  std::cout << text << std::flush;
}

}  // namespace

void ExpectPassAsNobody(const std::string& filter) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: every suite runs as an ordinary user already";
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd output(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) BecomeNobodyAndTest(filter, theirs.get());
  theirs = UniqueFd();
  Show(output.get());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotStart) {
    GTEST_SKIP() << "nobody may not read the build directory";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace caisson::testing
