// The probe must report correctly when a feature is disabled, so each test really disables it.
#include "jail/probe.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "jail/testing/namespaces.h"

namespace caisson::jail {
namespace {

std::string Flatten(const Report& report) {
  std::string text = "best " + std::string(ToString(report.best)) + "\n";
  for (const Feature& feature : report.features) {
    text += (feature.available ? "+" : "-") + feature.name + " [" + feature.detail + "] [" +
            feature.fix + "]\n";
  }
  for (const TierVerdict& verdict : report.tiers) {
    text += std::string("tier ") + std::string(ToString(verdict.tier)) +
            (verdict.available ? " yes" : " no: " + verdict.why_not) + "\n";
  }
  return text;
}

// Probes in a separate process after `change`, which returns false if the change is not possible
// here.
std::string ProbeAfter(const std::function<bool()>& change) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string text = change() ? Flatten(Probe()) : "unchanged";
    static_cast<void>(!::write(write_end.get(), text.data(), text.size()));
    ::_exit(0);
  }
  write_end = UniqueFd();
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(read_end.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::waitpid(pid, nullptr, 0);
  return text;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// As the default profile of a container: these calls fail, and no process is killed.
bool RefuseBySeccomp(std::initializer_list<int> calls, int error_number) {
  scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
  for (int number : calls) {
    if (seccomp_rule_add(context, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error_number)), number,
                         0) != 0) {
      return false;
    }
  }
  return seccomp_load(context) == 0;
}

TEST(ProbeTest, EveryMissingFeatureSaysWhy) {
  const Report report = Probe();
  EXPECT_FALSE(report.kernel.empty());
  EXPECT_GE(report.features.size(), 16U);
  ASSERT_EQ(report.tiers.size(), 3U);
  for (const Feature& feature : report.features) {
    if (!feature.available) EXPECT_FALSE(feature.detail.empty()) << feature.name;
  }
  EXPECT_EQ(report.Find("no such"), nullptr);
  std::printf("%s", Flatten(report).c_str());
}

TEST(ProbeTest, UserNamespacesSwitchedOffBySysctl) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to write the sysctl of its namespace";
  const std::string text = ProbeAfter([] {
    if (::unshare(CLONE_NEWUSER) != 0) return false;
    std::ofstream limit("/proc/sys/user/max_user_namespaces");
    return static_cast<bool>(limit << 0 << std::flush);
  });
  if (text == "unchanged") GTEST_SKIP() << "a sanitizer's thread is in the way";
  EXPECT_TRUE(text.starts_with("best landlock\n")) << text;
  EXPECT_TRUE(Contains(text, "-user_namespaces")) << text;
  EXPECT_TRUE(Contains(text, "sysctl user.max_user_namespaces=")) << text;
  EXPECT_TRUE(Contains(text, "tier namespace no: no user_namespaces")) << text;
  EXPECT_TRUE(Contains(text, "tier landlock yes")) << text;
}

TEST(ProbeTest, LandlockRefusedLeavesNoTierButNone) {
  const std::string text =
      ProbeAfter([] { return RefuseBySeccomp({SCMP_SYS(landlock_create_ruleset)}, EPERM); });
  EXPECT_TRUE(text.starts_with("best none\n")) << text;
  EXPECT_TRUE(Contains(text, "-landlock")) << text;
  EXPECT_TRUE(Contains(text, "tier landlock no: no landlock")) << text;
}

TEST(ProbeTest, MountsRefusedByASecurityModuleTakeAwayTierNamespace) {
  SkipWithoutNamespaces();
  const std::string text = ProbeAfter([] { return RefuseBySeccomp({SCMP_SYS(mount)}, EACCES); });
  EXPECT_TRUE(text.starts_with("best landlock\n")) << text;
  EXPECT_TRUE(Contains(text, "+user_namespaces")) << text;
  EXPECT_TRUE(Contains(text, "-pivot_root")) << text;
}

// The default profile of docker: clone may not make namespaces, clone3 does not exist. Plain
// children work.
TEST(ProbeTest, NamespacesRefusedByAContainerAreExplained) {
  const std::string text = ProbeAfter([] {
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    const scmp_arg_cmp new_user{0, SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER};
    return seccomp_rule_add_array(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &new_user) ==
               0 &&
           seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 &&
           seccomp_load(context) == 0;
  });
  EXPECT_TRUE(text.starts_with("best landlock\n")) << text;
  EXPECT_TRUE(Contains(text, "-user_namespaces")) << text;
  EXPECT_TRUE(Contains(text, "docker: --security-opt")) << text;
}

TEST(ProbeTest, AnOrdinaryUserHasTierNamespaceToo) {
  if (Probe().best != Tier::kNamespace) GTEST_SKIP() << "not on this machine";
  const std::string text = ProbeAfter([] {
    if (::getuid() != 0) return true;
    const bool changed = ::setgroups(0, nullptr) == 0 && ::setresgid(65534, 65534, 65534) == 0 &&
                         ::setresuid(65534, 65534, 65534) == 0;
    return changed && ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
  });
  EXPECT_TRUE(text.starts_with("best namespace\n")) << text;
}

}  // namespace
}  // namespace caisson::jail
