// Cells that follow one another in one slot: what the next one finds, and what the slot holds.
#include "engine/native/forkserver/testing/fork_server_fixture.h"

namespace caisson::forkserver {
namespace {

class SlotTest : public ForkServerTest {
 protected:
  // Returns the result of the next cell in the slot.
  std::string RunInSlot(const std::string& code) {
    DrivenCell cell = fork_server().Make();
    EXPECT_TRUE(cell.prepared) << cell.failed;
    EXPECT_TRUE(IsInSlot(cell));
    std::string result = cell.Run(code, {}, Echo).Result();
    cell.Kill();
    fork_server().AwaitGone(cell);
    EXPECT_TRUE(cell.gone);
    untouched_ = cell.gone && cell.gone->files_untouched == 1;
    // A slot whose files were touched is free again when it has new ones.
    if (!untouched_) AwaitSlot();
    return result;
  }

  bool untouched_ = false;
};
INSTANTIATE_TEST_SUITE_P(Tiers, SlotTest, testing::Values(kInSlot), NameOf);

constexpr const char* kLooks =
    "import os\n[list(os.stat(p)) + [os.stat(p).st_ctime_ns, os.stat(p).st_atime_ns, "
    "os.statvfs(p).f_bfree, os.statvfs(p).f_ffree] for p in ('/tmp', '/input', '/output')]";

TEST_P(SlotTest, FilesThatNobodyTouchedServeTheNextCell) {
  const std::string first = RunInSlot(kLooks);
  EXPECT_TRUE(untouched_);
  EXPECT_EQ(RunInSlot(kLooks), first);
}

TEST_P(SlotTest, TouchedFilesAreNotLeftToTheNextCell) {
  for (const char* touch :
       {"open('/tmp/x', 'w')", "open('/output/x', 'w')", "import os\nos.mkdir('/input/x')",
        "import os\nos.listdir('/tmp')", "import os\nos.chmod('/tmp', 0o777)",
        "import os\nos.chmod('/output', 0o777); os.chmod('/output', 0o700)",
        "import os\nopen('/tmp/x', 'w'); os.unlink('/tmp/x')",
        "import os\nos.utime('/tmp', (0, 0))",
        "import os\nos.utime('/output', ns=(os.stat('/output').st_atime_ns, "
        "os.stat('/output').st_mtime_ns))",
        "import os\nos.symlink('/etc', '/tmp/x')"}) {
    EXPECT_THAT(RunInSlot(touch), testing::Not(HasSubstr("Error"))) << touch;
    EXPECT_FALSE(untouched_) << touch;
    EXPECT_EQ(RunInSlot("import os\n[os.listdir(p) for p in ('/tmp', '/input', '/output')]"),
              "[[],[],[]]");
    EXPECT_EQ(RunInSlot("import os\n[oct(os.stat(p).st_mode) for p in ('/tmp', '/output')]"),
              R"(["0o40700","0o40700"])");
  }
}

TEST_P(SlotTest, TheHostKeepsTheFilesOfACellThatTouchedThem) {
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(IsInSlot(cell));
  EXPECT_EQ(cell.Run("open('/output/a', 'w').write('of the first')").Result(), "12");
  fork_server().AwaitGone(cell);
  AwaitSlot();
  EXPECT_EQ(RunInSlot("open('/output/a', 'w').write('of the second')"), "13");
  EXPECT_EQ(ReadBelow(cell.files, "output/a"), "of the first");
}

TEST_P(SlotTest, NoSignalLeavesACell) {
  EXPECT_EQ(RunInSlot("import os\n[os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0)]"),
            "[1,0,1,1]");
  DrivenCell other = fork_server().Make();
  EXPECT_THAT(Run("import os\nos.kill(0, 9)\n'alive'"), testing::AnyOf("lost", "\"alive\""));
  EXPECT_EQ(other.Run("1+1").Result(), "2");
}

TEST_P(SlotTest, ASlotKeepsOneCapabilityAndItsCellsNone) {
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(IsInSlot(cell));
  const pid_t slot = std::stoi(Status(cell.HostPid(), "PPid"));
  EXPECT_EQ(Status(slot, "CapEff"), "0000000000200000");  // CAP_SYS_ADMIN, in its user namespace.
  EXPECT_EQ(Status(slot, "CapPrm"), "0000000000200000");
  EXPECT_EQ(Status(slot, "NoNewPrivs"), "1");
  EXPECT_EQ(Status(slot, "Seccomp"), "2");
  for (const pid_t pid : {slot, cell.HostPid()}) {
    EXPECT_EQ(Status(pid, "CapInh"), "0000000000000000");
    EXPECT_EQ(Status(pid, "CapBnd"), "0000000000000000");
  }
  EXPECT_EQ(Status(cell.HostPid(), "CapPrm"), "0000000000000000");
}

TEST_P(SlotTest, ASlotThatEndsTakesTheForkServerAlong) {
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(IsInSlot(cell));
  ASSERT_EQ(::kill(std::stoi(Status(cell.HostPid(), "PPid")), SIGKILL), 0);
  auto exit = fork_server().child().WaitFor(std::chrono::seconds(20));
  ASSERT_TRUE(exit && *exit);
  EXPECT_NE((*exit)->status, 0);
  EXPECT_TRUE(Ends(cell.pidfd));
}

}  // namespace
}  // namespace caisson::forkserver
