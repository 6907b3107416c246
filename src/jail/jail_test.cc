// test_child.cc tries every wall from inside, and this file checks the result from outside: in each
// tier, as root and as an ordinary user, with the worker's filter (`narrow`), with only the walls
// behind it (`wide`), and with only those behind the limits too (`loose`).
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "jail/cgroup.h"
#include "jail/enter.h"
#include "jail/kernel_identity.h"
#include "jail/landlock.h"
#include "jail/spawn_process.h"
#include "jail/testing/namespaces.h"

namespace caisson::jail {
namespace {

using std::chrono::milliseconds;

constexpr uid_t kNobody = 65534;

enum class Who { kRoot, kOrdinary };

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Pipe MakePipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string ReadAll(const UniqueFd& fd) {
  std::string all;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(fd.get(), buffer.data(), buffer.size())) > 0;) {
    all.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return all;
}

UniqueFd OpenTestChild() {
  UniqueFd program(::open(TEST_CHILD, O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(program.is_open()) << TEST_CHILD;
  return program;
}

std::string Describe(const Exit& exit) {
  return exit.signal != 0 ? "signal " + std::to_string(exit.signal)
                          : "exit " + std::to_string(exit.status);
}

// Runs `body` in a forked process under that identity and returns the text it returned.
std::string As(Who who, const std::function<std::string()>& body) {
  Pipe pipe = MakePipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (who == Who::kOrdinary && ::getuid() == 0) {
      if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
          ::setresuid(kNobody, kNobody, kNobody) != 0) {
        ::_exit(9);
      }
      ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // As after a login; changing ids cleared the flag.
    }
    const std::string text = body();
    static_cast<void>(!::write(pipe.write_end.get(), text.data(), text.size()));
    ::_exit(0);
  }
  pipe.write_end = UniqueFd();
  std::string text = ReadAll(pipe.read_end);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the test's own process failed";
  return text;
}

// Spawns the test child and returns its output and how it ended, or "error: ...".
std::string SpawnAndObserve(const UniqueFd& program, Tier tier, const std::string& width,
                            const std::string& attempt,
                            const std::vector<const UniqueFd*>& descriptors = {}) {
  Pipe log = MakePipe();
  auto child = Spawn({.tier = tier,
                      .program = &program,
                      .argv = {"child", std::string(ToString(tier)), width, attempt},
                      .descriptors = descriptors,
                      .log = &log.write_end});
  log.write_end = UniqueFd();
  if (!child) return "error: " + child.error().message();
  std::string text = ReadAll(log.read_end);
  auto exit = child->Wait();
  return text + (exit ? Describe(*exit) : exit.error().message());
}

struct Setup {
  Who who;
  Tier tier;
};

class JailTest : public testing::TestWithParam<Setup> {
 protected:
  void SetUp() override {
    if (GetParam().who == Who::kRoot && ::getuid() != 0) GTEST_SKIP() << "not root";
    if (GetParam().tier == Tier::kNamespace) SkipWithoutNamespaces();
  }

  std::string Observe(const std::string& width, const std::string& attempt) const {
    const UniqueFd program = OpenTestChild();
    return As(GetParam().who,
              [&] { return SpawnAndObserve(program, GetParam().tier, width, attempt); });
  }

  void ExpectKilledByFilter(const std::string& attempt) const {
    EXPECT_EQ(Observe("narrow", attempt), "signal 31") << attempt;
  }
  void ExpectRefused(const std::string& width, const std::string& attempt, int error_number) const {
    EXPECT_EQ(Observe(width, attempt), "errno " + std::to_string(error_number) + "\nexit 0")
        << attempt;
  }
  bool IsNamespace() const { return GetParam().tier == Tier::kNamespace; }
};

std::string SetupName(const testing::TestParamInfo<Setup>& info) {
  return std::string(info.param.who == Who::kRoot ? "Root" : "Ordinary") + "_" +
         std::string(ToString(info.param.tier));
}

INSTANTIATE_TEST_SUITE_P(Promised, JailTest,
                         testing::Values(Setup{Who::kRoot, Tier::kNamespace},
                                         Setup{Who::kRoot, Tier::kLandlock},
                                         Setup{Who::kOrdinary, Tier::kNamespace},
                                         Setup{Who::kOrdinary, Tier::kLandlock}),
                         SetupName);

TEST_P(JailTest, AllowedWorkGoesOn) {
  EXPECT_EQ(Observe("narrow", "nothing"), "ok 0\nexit 0");
  EXPECT_EQ(Observe("narrow", "map_data"), "ok 0\nexit 0");
  EXPECT_EQ(Observe("narrow", "read_pagemap"), "ok 8\nexit 0");
}

TEST_P(JailTest, PageMapOpenedBeforeStaysUsable) {
  const std::string seen = Observe("narrow", "scan_pagemap");
  EXPECT_TRUE(seen == "ok 1\nexit 0" || seen == "errno 25\nexit 0") << seen;  // ENOTTY before 6.7.
}

TEST_P(JailTest, EveryRequiredWallIsReportedUp) {
  const std::string walls = Observe("narrow", "walls");
  for (const char* name :
       {"no_new_privs", "landlock", "capabilities", "not_dumpable", "rlimits", "seccomp"}) {
    EXPECT_NE(walls.find(std::string("+") + name + " "), std::string::npos) << name << "\n"
                                                                            << walls;
  }
  for (const char* name : {"namespaces", "network", "root", "bounding_set"}) {
    EXPECT_EQ(walls.find(std::string("+") + name + " ") != std::string::npos, IsNamespace())
        << name;
  }
}

TEST_P(JailTest, FilterKillsEveryOtherCall) {
  for (const char* attempt :
       {"open_passwd", "open_root", "open_proc", "stat_passwd", "create_tmp", "socket_inet",
        "mount", "fork", "user_namespace", "ptrace_parent", "kill_all", "exec", "exec_shell", "dup",
        "raise_limit", "become_root", "own_id", "dumpable"}) {
    ExpectKilledByFilter(attempt);
  }
}

TEST_P(JailTest, FilterChecksArguments) {
  for (const char* attempt : {"map_exec", "protect_exec", "ioctl_other_fd", "ioctl_other_request",
                              "write_other_fd", "write_high_bits"}) {
    ExpectKilledByFilter(attempt);
  }
}

// The same numbers mean other calls there: 45 is brk in i386, and x32's futex is our futex.
TEST_P(JailTest, FilterKillsForeignAbis) {
  for (const char* attempt : {"x32_getpid", "x32_futex", "int80_getpid", "int80_brk"}) {
    ExpectKilledByFilter(attempt);
    EXPECT_EQ(Observe("wide", attempt), "signal 31") << attempt;
  }
}

TEST_P(JailTest, FilesAreOutOfReachWithoutFilterAndLimits) {
  // Landlock refuses, whether the directory is empty or not.
  ExpectRefused("loose", "open_root", EACCES);
  ExpectRefused("loose", "open_passwd", IsNamespace() ? ENOENT : EACCES);
  ExpectRefused("loose", "open_proc", IsNamespace() ? ENOENT : EACCES);
  // Landlock does not hide names.
  if (IsNamespace()) ExpectRefused("loose", "stat_passwd", ENOENT);
  std::filesystem::remove("/tmp/caisson-jail-test");
  ExpectRefused("loose", "create_tmp", IsNamespace() ? ENOENT : EACCES);
  EXPECT_FALSE(std::filesystem::exists("/tmp/caisson-jail-test"));
  EXPECT_NE(Observe("loose", "create_here").find("errno"), std::string::npos);
  ExpectRefused("loose", "exec_shell", IsNamespace() ? ENOENT : EACCES);
}

TEST_P(JailTest, TheNetworkIsOutOfReachWithoutFilterAndLimits) {
  if (IsNamespace()) {
    ExpectRefused("loose", "connect_loopback", ENETUNREACH);
    ExpectRefused("loose", "connect_world", ENETUNREACH);
  } else if (const auto abi = LandlockAbi(); abi && *abi >= kLandlockNetworkAbi) {
    // Landlock covers only TCP; the filter covers all sockets.
    ExpectRefused("loose", "connect_tcp", EACCES);
  }
}

TEST_P(JailTest, LimitsHoldWhereTheCallsAreAllowed) {
  ExpectRefused("wide", "dup", EMFILE);
  ExpectRefused("wide", "socket_inet", EMFILE);
  ExpectRefused("wide", "fork", EAGAIN);
  // The control: with higher limits both work, so the limits are what refuses.
  EXPECT_TRUE(Observe("loose", "dup").starts_with("ok "));
  EXPECT_TRUE(Observe("loose", "fork").starts_with("ok "));
}

TEST_P(JailTest, MountsAreRefusedWithoutTheFilter) {
  ExpectRefused("wide", "mount", EPERM);
}

TEST_P(JailTest, OtherProcessesAreOutOfReachWithoutTheFilter) {
  const std::string traced = Observe("wide", "ptrace_parent");
  EXPECT_TRUE(traced.starts_with("errno ")) << traced;
  if (IsNamespace()) {
    ExpectRefused("wide", "kill_all", ESRCH);  // No other process is visible.
  } else if (const auto abi = LandlockAbi(); abi && *abi >= kLandlockScopeAbi) {
    ExpectRefused("wide", "kill_parent", EPERM);  // Even for a process of the same user.
  }
}

TEST_P(JailTest, PrivilegeIsGoneForGood) {
  ExpectRefused("wide", "raise_limit", EPERM);
  EXPECT_NE(Observe("wide", "become_root").find("errno"), std::string::npos);
  EXPECT_EQ(Observe("wide", "dumpable"), "ok 0\nexit 0");
  EXPECT_EQ(Observe("wide", "new_privs"), "ok 1\nexit 0");
}

TEST_P(JailTest, NoCapabilityIsLeftInAnySet) {
  EXPECT_EQ(Observe("wide", "capabilities"), "ok 0\nexit 0");
  // An ordinary user cannot empty the bounding set outside a user namespace (newborn.cc).
  if (!IsNamespace() && GetParam().who == Who::kOrdinary) return;
  EXPECT_EQ(Observe("wide", "bounding_set"), "ok 0\nexit 0");
}

TEST_P(JailTest, NeverRunsAsRoot) {
  const uid_t expected = IsNamespace() || GetParam().who == Who::kOrdinary ? kInsideId : kPrivateId;
  if (::getuid() != 0) GTEST_SKIP() << "ids differ for this user";
  EXPECT_EQ(Observe("wide", "own_id"), "ok " + std::to_string(expected) + "\nexit 0");
}

TEST_P(JailTest, TheHostsNameIsNotTold) {
  if (!IsNamespace()) GTEST_SKIP() << "there is no name but the host's";
  EXPECT_EQ(Observe("wide", "host_name"), "ok 0\nexit 0");
}

// The default profile of podman does this. The name is not a wall, so the jail works without it and
// reports it.
TEST_P(JailTest, AContainerMayRefuseToChangeTheHostsName) {
  if (!IsNamespace()) GTEST_SKIP() << "there is no name but the host's";
  const UniqueFd program = OpenTestChild();
  const std::string seen = As(GetParam().who, [&]() -> std::string {
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    for (const int call : {SCMP_SYS(sethostname), SCMP_SYS(setdomainname)}) {
      if (seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), call, 0) != 0) return "no rule";
    }
    if (seccomp_load(context) != 0) return "no filter";
    return SpawnAndObserve(program, GetParam().tier, "narrow", "walls");
  });
  EXPECT_NE(seen.find("-host_name"), std::string::npos) << seen;
  EXPECT_NE(seen.find("+seccomp"), std::string::npos) << seen;
  EXPECT_NE(Observe("narrow", "walls").find("+host_name"), std::string::npos);
}

// MDWE, where the kernel has it: data never becomes code, even if mprotect is allowed.
TEST_P(JailTest, DataCannotBecomeCodeWithoutTheFilter) {
  if (Observe("narrow", "walls").find("+no_exec_gain") == std::string::npos)
    GTEST_SKIP() << "the kernel has no such wall";
  ExpectRefused("wide", "protect_exec", EACCES);
}

TEST_P(JailTest, ThreadsAreRefused) {
  const std::string seen = Observe("narrow", "threads");
  EXPECT_NE(seen.find("a process with threads cannot be jailed"), std::string::npos) << seen;
}

TEST_P(JailTest, InheritsNothing) {
  const UniqueFd program = OpenTestChild();
  const std::string seen = As(GetParam().who, [&]() -> std::string {
    for (int i = 0; i < 50; ++i) {
      if (::open("/dev/null", O_RDONLY) < 0)
        return "cannot open";  // Without O_CLOEXEC, on purpose.
    }
    ::setenv("SECRET", "value", 1);
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &term, nullptr);
    Pipe passed = MakePipe();
    return SpawnAndObserve(program, GetParam().tier, "narrow", "inheritance",
                           {&passed.read_end, &passed.write_end});
  });
  EXPECT_TRUE(seen.starts_with(
      "fds 0 1 2 3 4; environment 0; session leader 1; blocked 0; ignored 0; cpus "))
      << seen;
}

// The attempts of the tests above must be able to succeed: without a jail they do.
TEST(JailControlTest, WithoutAJailTheAttemptsSucceed) {
  const UniqueFd program = OpenTestChild();
  for (const char* attempt : {"open_passwd", "open_root", "open_proc", "stat_passwd", "socket_inet",
                              "connect_loopback", "fork", "kill_parent", "map_exec", "protect_exec",
                              "dup", "write_other_fd", "own_id", "write_high_bits"}) {
    const std::string seen =
        As(Who::kOrdinary, [&] { return SpawnAndObserve(program, Tier::kNone, "off", attempt); });
    EXPECT_NE(seen.find("ok "), std::string::npos) << attempt << ": " << seen;
  }
}

TEST(EnterTest, OutsideOfSpawnedNamespacesItRefusesToTouchTheRoot) {
  const UniqueFd program = OpenTestChild();
  Pipe log = MakePipe();
  auto child = Spawn({.tier = Tier::kNone,
                      .program = &program,
                      .argv = {"child", "namespace", "narrow", "nothing"},
                      .log = &log.write_end});
  ASSERT_TRUE(child) << child.error().message();
  log.write_end = UniqueFd();
  EXPECT_EQ(ReadAll(log.read_end),
            "enter: this process was not spawned into namespaces of its own\n");
}

TEST(EnterTest, TierNonePutsUpWhatItCanAndSaysSo) {
  const UniqueFd program = OpenTestChild();
  const std::string seen = SpawnAndObserve(program, Tier::kNone, "narrow", "walls");
  EXPECT_NE(seen.find("+seccomp"), std::string::npos) << seen;
  EXPECT_EQ(SpawnAndObserve(program, Tier::kNone, "narrow", "open_passwd"), "signal 31");
}

class SpawnTest : public testing::Test {
 protected:
  void SetUp() override { SkipWithoutNamespaces(); }
  Result<Child> SpawnHanging(Tier tier, Pipe& log) {
    auto child = Spawn({.tier = tier,
                        .program = &program_,
                        .argv = {"child", std::string(ToString(tier)), "narrow", "hang"},
                        .log = &log.write_end});
    log.write_end = UniqueFd();
    return child;
  }
  static std::string ReadLine(const Pipe& log) {
    std::array<char, 6> line{};
    const ssize_t n = ::read(log.read_end.get(), line.data(), line.size());
    return {line.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
  }
  static void AwaitReady(const Pipe& log) { EXPECT_EQ(ReadLine(log), "ready\n"); }

  UniqueFd program_ = OpenTestChild();
};

TEST_F(SpawnTest, PassedDescriptorsArriveInOrder) {
  Pipe first = MakePipe();
  Pipe log = MakePipe();
  // Passes the log as descriptor 4 as well, so that text written to it proves the numbering.
  auto child = Spawn({.tier = Tier::kNone,
                      .program = &program_,
                      .argv = {"child", "none", "narrow", "inheritance"},
                      .descriptors = {&first.read_end, &log.write_end},
                      .log = &log.write_end,
                      .cpu = 0});
  ASSERT_TRUE(child) << child.error().message();
  log.write_end = UniqueFd();
  EXPECT_EQ(ReadAll(log.read_end),
            "fds 0 1 2 3 4; environment 0; session leader 1; blocked 0; ignored 0; cpus 1\n");
}

TEST_F(SpawnTest, DirectoriesAndFileLogsAreRefused) {
  UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto with_directory = Spawn({.program = &program_, .argv = {"child"}, .descriptors = {&root}});
  ASSERT_FALSE(with_directory);
  EXPECT_EQ(with_directory.error().code(), ErrorCode::kInvalidArgument);
  auto with_file = Spawn({.program = &program_, .argv = {"child"}, .log = &program_});
  ASSERT_FALSE(with_file);
  EXPECT_EQ(with_file.error().code(), ErrorCode::kInvalidArgument);
}

bool HasNoChildren() {
  return ::waitpid(-1, nullptr, WNOHANG | __WALL) == -1 && errno == ECHILD;
}

TEST_F(SpawnTest, FailureNamesTheStepAndLeavesNoChild) {
  UniqueFd not_a_program(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (Tier tier : {Tier::kNamespace, Tier::kLandlock, Tier::kNone}) {
    auto child = Spawn({.tier = tier, .program = &not_a_program, .argv = {"child"}});
    ASSERT_FALSE(child);
    EXPECT_NE(child.error().message().find("execute the program"), std::string::npos)
        << child.error().message();
    EXPECT_TRUE(HasNoChildren());
  }
}

TEST_F(SpawnTest, ACoreThatDoesNotExistIsAnError) {
  for (int core : {-1, 1023, 1 << 20}) {
    auto child = Spawn({.tier = Tier::kNone, .program = &program_, .argv = {"child"}, .cpu = core});
    EXPECT_FALSE(child) << core;
    EXPECT_TRUE(HasNoChildren());
  }
}

TEST_F(SpawnTest, DestructorKillsAndReaps) {
  for (Tier tier : {Tier::kNamespace, Tier::kLandlock}) {
    Pipe log = MakePipe();
    {
      auto child = SpawnHanging(tier, log);
      ASSERT_TRUE(child) << child.error().message();
      AwaitReady(log);
      auto still = child->WaitFor(milliseconds(0));
      ASSERT_TRUE(still);
      EXPECT_FALSE(still->has_value());
    }
    EXPECT_EQ(ReadAll(log.read_end), "");  // End of file: no process holds the pipe any more.
    EXPECT_TRUE(HasNoChildren());
  }
}

TEST_F(SpawnTest, KillIsSeenByWaitAndByThePidfd) {
  Pipe log = MakePipe();
  auto child = SpawnHanging(Tier::kNamespace, log);
  ASSERT_TRUE(child) << child.error().message();
  AwaitReady(log);
  child->Kill();
  pollfd ended{.fd = child->pidfd().get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ended, 1, 5000), 1);
  auto exit = child->Wait();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGKILL);
  EXPECT_FALSE(exit->DeniedSyscall());
  child->Kill();  // Has no effect now.
  EXPECT_TRUE(child->Wait());
}

TEST_F(SpawnTest, ChildDiesWithItsParent) {
  for (Tier tier : {Tier::kNamespace, Tier::kLandlock, Tier::kNone}) {
    Pipe log = MakePipe();
    const pid_t parent = ::fork();
    if (parent == 0) {
      auto child = SpawnHanging(tier, log);
      for (;;) ::pause();
    }
    log.write_end = UniqueFd();
    AwaitReady(log);
    ::kill(parent, SIGKILL);  // No destructor runs.
    ::waitpid(parent, nullptr, 0);
    pollfd hangup{.fd = log.read_end.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&hangup, 1, 5000), 1) << "the child outlived its parent";
    EXPECT_EQ(ReadAll(log.read_end), "");
  }
}

TEST_F(SpawnTest, ChildDiesWithTheThreadThatSpawnedIt) {
  Pipe log = MakePipe();
  std::optional<Child> child;
  std::thread([&] {
    auto spawned = SpawnHanging(Tier::kNamespace, log);
    if (spawned) child.emplace(*std::move(spawned));
  }).join();
  ASSERT_TRUE(child);
  auto exit = child->WaitFor(milliseconds(5000));
  ASSERT_TRUE(exit);
  ASSERT_TRUE(exit->has_value());
  EXPECT_EQ((*exit)->signal, SIGKILL);
}

// The child of a clone in a process with threads must not wait for a lock that one of them held.
TEST_F(SpawnTest, SpawnsWhileOtherThreadsUseTheHeapAndSpawn) {
  std::atomic<bool> stop = false;
  std::atomic<int> started = 0;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    while (!stop) std::vector<std::string>(100, std::string(1000, 'x'));
  });
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10; ++k) {
        Pipe log = MakePipe();
        auto child = SpawnHanging(Tier::kLandlock, log);
        if (child) started += ReadLine(log) == "ready\n" ? 1 : 0;
      }
    });
  }
  for (std::size_t i = 1; i < threads.size(); ++i) threads[i].join();
  stop = true;
  threads[0].join();
  EXPECT_EQ(started, 30);
}

// Disabling user namespaces inside one of our own changes nothing outside.
TEST_F(SpawnTest, WithoutUserNamespacesThereIsAClearErrorAndNoChild) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to write the sysctl of its namespace";
  const std::string seen = As(Who::kRoot, [&]() -> std::string {
    if (::unshare(CLONE_NEWUSER) != 0) return "cannot unshare";
    std::ofstream limit("/proc/sys/user/max_user_namespaces");
    if (!(limit << 0 << std::flush)) return "cannot set the limit";
    auto child = Spawn({.program = &program_, .argv = {"child"}});
    return (child ? "started" : child.error().message()) + (HasNoChildren() ? " | clean" : "");
  });
  if (seen == "cannot unshare") GTEST_SKIP() << "a sanitizer's thread is in the way";
  EXPECT_TRUE(seen.starts_with("tier namespace is not available: user namespaces are refused"))
      << seen;
  EXPECT_TRUE(seen.ends_with(" | clean")) << seen;
}

TEST_F(SpawnTest, StartsQuickly) {
  for (Tier tier : {Tier::kNamespace, Tier::kLandlock}) {
    std::vector<double> spawned;
    std::vector<double> ready;
    std::vector<double> killed;
    for (int i = 0; i < 40; ++i) {
      // The kernel destroys network namespaces in the background and makes none meanwhile.
      ::usleep(20'000);
      Pipe log = MakePipe();
      const auto start = std::chrono::steady_clock::now();
      const auto since = [](auto from) {
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from)
            .count();
      };
      auto child = SpawnHanging(tier, log);
      ASSERT_TRUE(child) << child.error().message();
      spawned.push_back(since(start));
      AwaitReady(log);
      ready.push_back(since(start));
      const auto kill = std::chrono::steady_clock::now();
      child->Kill();
      ASSERT_TRUE(child->Wait());
      killed.push_back(since(kill));
    }
    for (auto* samples : {&spawned, &ready, &killed}) std::ranges::sort(*samples);
    RecordProperty(std::string(ToString(tier)) + "_ready_us", static_cast<int>(ready[20]));
    std::printf("%s: spawn %.0f us, ready %.0f us (min %.0f, p90 %.0f), kill and reap %.0f us\n",
                std::string(ToString(tier)).c_str(), spawned[20], ready[20], ready[0], ready[36],
                killed[20]);
    EXPECT_LT(ready[20], 50'000);  // A bound against hangs only.
  }
}

TEST(CgroupTest, TheChildIsInTheGroupWhichIsRemovedOrTheReasonIsGiven) {
  const std::string name = "caisson-test-" + std::to_string(::getpid());
  {
    auto group = Cgroup::Create(name, {.memory_bytes = 64 << 20, .processes = 4});
    if (!group) {
      EXPECT_NE(group.error().message().find("; run caisson in a delegated group"),
                std::string::npos)
          << group.error().message();
      GTEST_SKIP() << group.error().message();
    }
    const UniqueFd program = OpenTestChild();
    Pipe log = MakePipe();
    auto child = Spawn({.program = &program,
                        .argv = {"child", "namespace", "narrow", "hang"},
                        .log = &log.write_end});
    ASSERT_TRUE(child) << child.error().message();
    auto attached = group->Attach(*child);
    ASSERT_TRUE(attached) << attached.error().message();
    std::ifstream groups("/proc/" + std::to_string(child->pid()) + "/cgroup");
    const std::string text{std::istreambuf_iterator<char>(groups), {}};
    EXPECT_NE(text.find(name), std::string::npos) << text;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           "/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied)) {
    EXPECT_NE(entry.path().filename(), name);
  }
}

TEST(CgroupTest, AnOrdinaryUserWithoutDelegationIsToldHow) {
  const std::string seen = As(Who::kOrdinary, [] {
    auto group = Cgroup::Create("caisson-test-x", {.memory_bytes = 64 << 20, .processes = 4});
    return group ? std::string("made") : group.error().message();
  });
  if (seen == "made") GTEST_SKIP() << "delegated here";
  EXPECT_NE(seen.find("Delegate="), std::string::npos) << seen;
}

TEST(TierTest, NamesRoundTripAndUnknownOnesAreRefused) {
  for (Tier tier : {Tier::kNamespace, Tier::kLandlock, Tier::kNone}) {
    auto parsed = ParseTier(ToString(tier));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, tier);
  }
  for (const char* name : {"", "None", "kvm", "namespace "}) EXPECT_FALSE(ParseTier(name)) << name;
}

}  // namespace
}  // namespace caisson::jail
