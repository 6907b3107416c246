// Cells that follow one another in one berth: what the next one finds, and what the berth holds.
#include "engine/native/nursery/testing/nursery_fixture.h"

namespace caisson::nursery {
namespace {

class BerthTest : public NurseryTest {
 protected:
  // Returns the result of the next cell in the berth.
  std::string RunInBerth(const std::string& code) {
    DrivenCell cell = nursery().Make();
    EXPECT_TRUE(cell.prepared) << cell.failed;
    EXPECT_TRUE(IsInBerth(cell));
    std::string result = cell.Run(code, {}, Echo).Result();
    cell.Kill();
    nursery().AwaitGone(cell);
    EXPECT_TRUE(cell.gone);
    untouched_ = cell.gone && cell.gone->files_untouched == 1;
    // A berth whose files were touched is free again when it has new ones.
    if (!untouched_) AwaitBerth();
    return result;
  }

  bool untouched_ = false;
};
INSTANTIATE_TEST_SUITE_P(Tiers, BerthTest, testing::Values(kInBerth), NameOf);

constexpr const char* kLooks =
    "import os\n[list(os.stat(p)) + [os.stat(p).st_ctime_ns, os.stat(p).st_atime_ns, "
    "os.statvfs(p).f_bfree, os.statvfs(p).f_ffree] for p in ('/tmp', '/input', '/output')]";

TEST_P(BerthTest, FilesThatNobodyTouchedServeTheNextCell) {
  const std::string first = RunInBerth(kLooks);
  EXPECT_TRUE(untouched_);
  EXPECT_EQ(RunInBerth(kLooks), first);
}

TEST_P(BerthTest, TouchedFilesAreNotLeftToTheNextCell) {
  for (const char* touch :
       {"open('/tmp/x', 'w')", "open('/output/x', 'w')", "import os\nos.mkdir('/input/x')",
        "import os\nos.listdir('/tmp')", "import os\nos.chmod('/tmp', 0o777)",
        "import os\nos.chmod('/output', 0o777); os.chmod('/output', 0o700)",
        "import os\nopen('/tmp/x', 'w'); os.unlink('/tmp/x')",
        "import os\nos.utime('/tmp', (0, 0))",
        "import os\nos.utime('/output', ns=(os.stat('/output').st_atime_ns, "
        "os.stat('/output').st_mtime_ns))",
        "import os\nos.symlink('/etc', '/tmp/x')"}) {
    EXPECT_THAT(RunInBerth(touch), testing::Not(HasSubstr("Error"))) << touch;
    EXPECT_FALSE(untouched_) << touch;
    EXPECT_EQ(RunInBerth("import os\n[os.listdir(p) for p in ('/tmp', '/input', '/output')]"),
              "[[],[],[]]");
    EXPECT_EQ(RunInBerth("import os\n[oct(os.stat(p).st_mode) for p in ('/tmp', '/output')]"),
              R"(["0o40700","0o40700"])");
  }
}

TEST_P(BerthTest, TheHostKeepsTheFilesOfACellThatTouchedThem) {
  DrivenCell cell = nursery().Make();
  ASSERT_TRUE(IsInBerth(cell));
  EXPECT_EQ(cell.Run("open('/output/a', 'w').write('of the first')").Result(), "12");
  nursery().AwaitGone(cell);
  AwaitBerth();
  EXPECT_EQ(RunInBerth("open('/output/a', 'w').write('of the second')"), "13");
  EXPECT_EQ(ReadBelow(cell.files, "output/a"), "of the first");
}

TEST_P(BerthTest, NoSignalLeavesACell) {
  EXPECT_EQ(RunInBerth("import os\n[os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0)]"),
            "[1,0,1,1]");
  DrivenCell other = nursery().Make();
  EXPECT_THAT(Run("import os\nos.kill(0, 9)\n'alive'"), testing::AnyOf("lost", "\"alive\""));
  EXPECT_EQ(other.Run("1+1").Result(), "2");
}

TEST_P(BerthTest, ABerthKeepsOneCapabilityAndItsCellsNone) {
  DrivenCell cell = nursery().Make();
  ASSERT_TRUE(IsInBerth(cell));
  const pid_t berth = std::stoi(Status(cell.HostPid(), "PPid"));
  EXPECT_EQ(Status(berth, "CapEff"), "0000000000200000");  // CAP_SYS_ADMIN, in its user namespace.
  EXPECT_EQ(Status(berth, "CapPrm"), "0000000000200000");
  EXPECT_EQ(Status(berth, "NoNewPrivs"), "1");
  EXPECT_EQ(Status(berth, "Seccomp"), "2");
  for (const pid_t pid : {berth, cell.HostPid()}) {
    EXPECT_EQ(Status(pid, "CapInh"), "0000000000000000");
    EXPECT_EQ(Status(pid, "CapBnd"), "0000000000000000");
  }
  EXPECT_EQ(Status(cell.HostPid(), "CapPrm"), "0000000000000000");
}

TEST_P(BerthTest, ABerthThatEndsTakesTheNurseryAlong) {
  DrivenCell cell = nursery().Make();
  ASSERT_TRUE(IsInBerth(cell));
  ASSERT_EQ(::kill(std::stoi(Status(cell.HostPid(), "PPid")), SIGKILL), 0);
  auto exit = nursery().child().WaitFor(std::chrono::seconds(20));
  ASSERT_TRUE(exit && *exit);
  EXPECT_NE((*exit)->status, 0);
  EXPECT_TRUE(Ends(cell.pidfd));
}

}  // namespace
}  // namespace caisson::nursery
