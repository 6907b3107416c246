// Checks which files of a cgroup file system are written, and the cleanup after a crashed host, in
// a directory that imitates one. jail_test.cc and cli.cgroups use the real file systems of the
// machine.
#include "jail/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace caisson::jail {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string Text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the pid of a process that has ended.
pid_t DeadPid() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

// Version 2 as systemd delegates it: controllers are delegated to the parent of our own group.
class DelegatedV2 : public testing::Test {
 protected:
  DelegatedV2() {
    std::string path = testing::TempDir() + "cgroup-XXXXXX";
    root_ = ::mkdtemp(path.data());
    fs::create_directories(root_ / "service/host");
    Write("service/cgroup.subtree_control", "memory pids\n");
    Write("service/host/cgroup.subtree_control", "\n");
    Write("mounts", "cgroup2 " + root_.string() + " cgroup2 rw,nosuid 0 0\n");
    Write("own", "0::/service/host\n");
    files_ = {.mounts = root_ / "mounts", .own = root_ / "own"};
  }
  ~DelegatedV2() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
  }
  fs::path MakeOldGroup(const std::string& name) const {
    fs::create_directory(root_ / "service" / name);
    fs::last_write_time(root_ / "service" / name,
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
    return root_ / "service" / name;
  }

  fs::path root_;
  CgroupFiles files_;
};

TEST_F(DelegatedV2, TheGroupStandsBesideOursAndHasItsLimits) {
  auto group = Cgroup::Create("x", {.memory_bytes = 64 << 20, .processes = 4}, files_);
  ASSERT_TRUE(group) << group.error().message();
  EXPECT_EQ(group->version(), "cgroup v2");
  EXPECT_EQ(Text(root_ / "service/x/memory.max"), "67108864");
  EXPECT_EQ(Text(root_ / "service/x/pids.max"), "4");
  EXPECT_EQ(Text(root_ / "service/x/memory.swap.max"), "0");
  ASSERT_TRUE(group->LimitMemory(1 << 20));
  EXPECT_THAT(Text(root_ / "service/x/memory.max"), testing::StartsWith("1048576"));
}

TEST_F(DelegatedV2, DoorsAndCountersAreThoseOfTheGroup) {
  auto group = Cgroup::Create("x", {.memory_bytes = 64 << 20, .processes = 4}, files_);
  ASSERT_TRUE(group) << group.error().message();
  Write("service/x/cgroup.procs", "");
  Write("service/x/cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
  Write("service/x/memory.events", "low 0\noom 1\noom_kill 0\n");
  auto doors = group->Doors();
  ASSERT_TRUE(doors) << doors.error().message();
  ASSERT_EQ(doors->size(), 1u);
  EXPECT_EQ(::write(doors->front().get(), "0", 1), 1);
  EXPECT_EQ(Text(root_ / "service/x/cgroup.procs"), "0");
  EXPECT_EQ(group->CpuTime(), std::chrono::microseconds(1500));
  EXPECT_FALSE(group->ran_out_of_memory());
  Write("service/x/memory.events", "low 0\noom 1\noom_kill 1\n");
  EXPECT_TRUE(group->ran_out_of_memory());
}

TEST_F(DelegatedV2, WithoutDelegationTheReasonIsGiven) {
  Write("service/cgroup.subtree_control", "memory\n");
  auto group = Cgroup::Create("x", {.memory_bytes = 64 << 20, .processes = 4}, files_);
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message(), HasSubstr("Delegate="));
}

TEST_F(DelegatedV2, WhatACrashedHostLeftIsRemovedAndNothingElse) {
  const std::string dead = std::to_string(DeadPid());
  const fs::path orphan = MakeOldGroup("caisson-" + dead + "-7");
  const fs::path in_use = MakeOldGroup("caisson-" + dead + "-8");
  Write("service/caisson-" + dead + "-8/cgroup.procs", "not empty");
  fs::last_write_time(in_use, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const fs::path ours = MakeOldGroup(Cgroup::NameFor(9));
  const fs::path others = MakeOldGroup("caisson.service");
  const fs::path young = MakeOldGroup("caisson-" + dead + "-10");
  fs::last_write_time(young, fs::file_time_type::clock::now());
  Cgroup::RemoveLeftovers(files_);
  EXPECT_FALSE(fs::exists(orphan));
  for (const fs::path& kept : {in_use, ours, others, young}) EXPECT_TRUE(fs::exists(kept)) << kept;
}

}  // namespace
}  // namespace caisson::jail
