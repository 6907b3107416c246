#include "workspace/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "workspace/beneath.h"
#include "workspace/testing/test_directory.h"

namespace caisson::workspace {
namespace {

using testing::HasSubstr;
using Wanted = WantedChange::Wanted;

class StagingTest : public testing::Test {
 protected:
  StagingTest() {
    root_.Put("a.txt", "alpha");
    root_.Put("d/c.txt", "gamma");
    root_.Put("d/e/f.txt", "delta");
  }

  wire::FileVersion Version(const std::string& name) {
    struct ::stat stat{};
    if (::lstat((root_.path() / name).c_str(), &stat) != 0) return {};
    return VersionOf(stat);
  }
  // Returns "user group mode".
  std::string Owner(const std::string& name) {
    struct ::stat stat{};
    if (::lstat((root_.path() / name).c_str(), &stat) != 0) return "none";
    std::ostringstream text;
    text << stat.st_uid << ' ' << stat.st_gid << ' ' << std::oct << (stat.st_mode & 07777);
    return text.str();
  }
  WantedChange Write(const std::string& path, std::string_view contents) {
    return {.path = path, .wanted = Wanted::kFile, .contents = contents, .expected = Version(path)};
  }
  WantedChange Make(const std::string& path) {
    return {.path = path, .wanted = Wanted::kDirectory, .expected = Version(path)};
  }
  WantedChange Remove(const std::string& path) {
    return {.path = path, .wanted = Wanted::kNothing, .expected = Version(path)};
  }
  Result<void> Apply(const std::vector<WantedChange>& changes) {
    TRY_ASSIGN(Staging staging, Staging::Prepare(root_.fd(), changes));
    TRY(staging.Commit());
    staging.Finish();
    return {};
  }
  std::string Refusal(const std::vector<WantedChange>& changes) {
    const Result<void> applied = Apply(changes);
    return applied ? "" : applied.error().message();
  }
  static constexpr const char* kTree = "a.txt d/ d/c.txt d/e/ d/e/f.txt ";

  TestDirectory root_;
};

TEST_F(StagingTest, AppliesChangesOfEveryKind) {
  ASSERT_TRUE(Apply({Write("a.txt", "ALPHA"), Write("new.txt", "new"), Make("n"),
                     Write("n/o.txt", "nested"), Remove("d/e/f.txt"), Remove("d/e")}));
  EXPECT_EQ(root_.Tree(), "a.txt d/ d/c.txt n/ n/o.txt new.txt ");
  EXPECT_EQ(root_.Get("a.txt"), "ALPHA");
  EXPECT_EQ(root_.Get("n/o.txt"), "nested");
}

TEST_F(StagingTest, AFileTakesADirectorysPlaceAndTheOtherWayRound) {
  auto gone_directory = Remove("d/e");
  ASSERT_TRUE(Apply({Remove("d/e/f.txt"),
                     gone_directory,
                     {.path = "d/e", .wanted = Wanted::kFile, .contents = "file"},
                     Remove("a.txt"),
                     {.path = "a.txt", .wanted = Wanted::kDirectory},
                     {.path = "a.txt/x", .wanted = Wanted::kFile, .contents = "x"}}));
  EXPECT_EQ(root_.Tree(), "a.txt/ a.txt/x d/ d/c.txt d/e ");
}

TEST_F(StagingTest, AnExistingFileKeepsItsMode) {
  ::chmod((root_.path() / "a.txt").c_str(), 0640);
  ASSERT_TRUE(Apply({Write("a.txt", "x")}));
  struct ::stat stat{};
  ASSERT_EQ(::stat((root_.path() / "a.txt").c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 0777, 0640U);
}

TEST_F(StagingTest, ASetUserIdBitIsNotKept) {
  ::chmod((root_.path() / "a.txt").c_str(), 04755);
  ASSERT_TRUE(Apply({Write("a.txt", "x")}));
  EXPECT_THAT(Owner("a.txt"), testing::EndsWith(" 755"));
}

TEST_F(StagingTest, OwnersAndGroupsAreKeptAndPassedOn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const auto own = [this](const char* name, ::uid_t user, ::gid_t group, ::mode_t mode) {
    ASSERT_EQ(::chown((root_.path() / name).c_str(), user, group), 0);
    ASSERT_EQ(::chmod((root_.path() / name).c_str(), mode), 0);
  };
  own("", 1000, 1001, 0755);
  own("a.txt", 1002, 1003, 0660);
  own("d", 1004, 1005, 02775);
  ASSERT_TRUE(Apply({Write("a.txt", "x"), Write("new.txt", "x"), Write("d/new.txt", "x"),
                     Make("d/n"), Make("d/n/m"), Write("d/n/m/new.txt", "x")}));
  EXPECT_EQ(Owner("a.txt"), "1002 1003 660");
  EXPECT_EQ(Owner("new.txt"), "1000 1001 644");
  EXPECT_EQ(Owner("d/new.txt"), "1004 1005 644");
  EXPECT_EQ(Owner("d/n"), "1004 1005 2755");
  EXPECT_EQ(Owner("d/n/m"), "1004 1005 2755");
  EXPECT_EQ(Owner("d/n/m/new.txt"), "1004 1005 644");
}

TEST_F(StagingTest, AConflictChangesNothing) {
  const std::vector<WantedChange> changes = {Write("new.txt", "new"), Remove("d/c.txt"),
                                             Write("a.txt", "mine")};
  root_.Put("a.txt", "theirs");
  const auto applied = Apply(changes);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(applied.error().message(), HasSubstr("a.txt was changed on the host"));
  EXPECT_EQ(root_.Tree(), kTree);
  EXPECT_EQ(root_.Get("a.txt"), "theirs");
}

// A concurrent change between Prepare and Commit: all or nothing is applied.
TEST_F(StagingTest, AConflictInTheMiddleIsUndone) {
  const auto attempt = [&](const std::function<void()>& meanwhile) {
    const std::vector<WantedChange> changes = {Remove("d/e/f.txt"),     Remove("d/e"),
                                               Write("a.txt", "mine"),  Make("n"),
                                               Write("n/x.txt", "new"), Write("z.txt", "last")};
    auto staging = Staging::Prepare(root_.fd(), changes);
    ASSERT_TRUE(staging);
    meanwhile();
    const auto done = staging->Commit();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), ErrorCode::kFailedPrecondition) << done.error().message();
  };
  attempt([&] { root_.Put("z.txt", "theirs"); });
  EXPECT_EQ(root_.Tree(), std::string(kTree) + "z.txt ");
  EXPECT_EQ(root_.Get("z.txt"), "theirs");
  std::filesystem::remove(root_.path() / "z.txt");
  attempt([&] { root_.Put("a.txt", "theirs"); });
  EXPECT_EQ(root_.Get("a.txt"), "theirs");
  attempt([&] { std::filesystem::remove(root_.path() / "a.txt"); });
  EXPECT_EQ(root_.Tree(), "d/ d/c.txt d/e/ d/e/f.txt ");
  root_.Put("a.txt", "alpha");
  attempt([&] { std::filesystem::create_symlink("x", root_.path() / "d/e/link"); });
  EXPECT_EQ(root_.Tree(), "a.txt d/ d/c.txt d/e/ d/e/f.txt d/e/link ");
  EXPECT_EQ(root_.Get("d/e/f.txt"), "delta");
  EXPECT_EQ(root_.Get("a.txt"), "alpha");
}

TEST_F(StagingTest, ALinkInThePlaceOfADirectoryIsNotFollowed) {
  TestDirectory outside;
  const std::vector<WantedChange> changes = {Write("d/new.txt", "new")};
  auto staging = Staging::Prepare(root_.fd(), changes);
  ASSERT_TRUE(staging);
  std::filesystem::rename(root_.path() / "d", root_.path() / "moved");
  std::filesystem::create_directory_symlink(outside.path(), root_.path() / "d");
  EXPECT_FALSE(staging->Commit());
  EXPECT_EQ(outside.Tree(), "");
}

TEST_F(StagingTest, PathsThatLeadOutOrAreOursAreRefused) {
  for (const char* path : {"", "..", "../x", "/x", "d/../x", ".caisson-x", ".caisson-x/manifest"}) {
    EXPECT_FALSE(Apply({{.path = path, .wanted = Wanted::kFile, .contents = "x"}})) << path;
  }
  EXPECT_EQ(root_.Tree(), kTree);
}

TEST_F(StagingTest, FilesThatCannotBePutBackAreKept) {
  const std::vector<WantedChange> changes = {Remove("a.txt"), Write("z.txt", "z")};
  {
    auto staging = Staging::Prepare(root_.fd(), changes);
    ASSERT_TRUE(staging);
    root_.Put("z.txt", "theirs");
    ASSERT_FALSE(staging->Commit());
    // a.txt is out; another process makes a new one before it is put back.
    root_.Put("a.txt", "newer");
  }
  EXPECT_EQ(root_.Get("a.txt"), "newer");
  std::string kept;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_.path())) {
    if (entry.path().filename() == "0") kept = entry.path().lexically_relative(root_.path());
  }
  EXPECT_EQ(root_.Get(kept), "alpha");
}

// The next process repairs what a process that died at any moment has left.
class CrashTest : public StagingTest, public testing::WithParamInterface<bool> {};

TEST_P(CrashTest, StepsLeftByACrashAreUndone) {
  const bool committed = GetParam();
  const std::vector<WantedChange> changes = {Remove("d/e/f.txt"), Remove("d/e"),
                                             Write("a.txt", "mine"), Make("n"),
                                             Write("n/x.txt", "new")};
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto staging = Staging::Prepare(root_.fd(), changes);
    const bool good = staging && (!committed || staging->Commit());
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_NE(root_.Tree(), kTree);
  Staging::Recover(root_.fd());
  EXPECT_EQ(root_.Tree(), kTree);
  EXPECT_EQ(root_.Get("a.txt"), "alpha");
  EXPECT_EQ(root_.Get("d/e/f.txt"), "delta");
}

INSTANTIATE_TEST_SUITE_P(BeforeAndAfterCommit, CrashTest, testing::Bool());

TEST_F(StagingTest, SpecialFilesAreLeftAloneAndNamedInTheError) {
  std::filesystem::create_symlink("a.txt", root_.path() / "link");
  ASSERT_EQ(::mkfifo((root_.path() / "pipe").c_str(), 0600), 0);
  const std::string tree = root_.Tree();
  WantedChange unseen = Write("link", "mine");
  unseen.expected = {};
  for (const WantedChange& change : {Write("link", "mine"), Remove("link"), unseen}) {
    EXPECT_THAT(Refusal({change}), HasSubstr("link is a link on the host"));
  }
  EXPECT_THAT(Refusal({Remove("pipe")}), HasSubstr("pipe is a pipe on the host"));
  EXPECT_EQ(root_.Tree(), tree);
  EXPECT_EQ(root_.Get("a.txt"), "alpha");
}

TEST_F(StagingTest, FilesNestedTooDeeplyAreRefused) {
  std::string path = "0";
  std::vector<WantedChange> changes = {Make(path)};
  while (changes.size() < wire::kMaxMountDepth) changes.push_back(Make(path += "/d"));
  EXPECT_TRUE(Apply(changes));
  const std::string tree = root_.Tree();
  EXPECT_THAT(Refusal({Write("a.txt", "mine"), Make(path + "/d")}), HasSubstr("nested too deeply"));
  EXPECT_EQ(root_.Tree(), tree);
  EXPECT_EQ(root_.Get("a.txt"), "alpha");
}

TEST_F(StagingTest, RecoveryIgnoresLiveProcesses) {
  const std::vector<WantedChange> changes = {Write("a.txt", "mine")};
  auto staging = Staging::Prepare(root_.fd(), changes);
  ASSERT_TRUE(staging);
  Staging::Recover(root_.fd());
  ASSERT_TRUE(staging->Commit());
  staging->Finish();
  EXPECT_EQ(root_.Get("a.txt"), "mine");
  EXPECT_EQ(root_.Tree(), kTree);
}

TEST_F(StagingTest, ADamagedManifestMovesNothing) {
  for (const char* manifest : {"garbage", "T 1 ../../x", "T 1 /etc/passwd", "X 1 ", "Q 1 a.txt"}) {
    root_.Put(".caisson-old/manifest", manifest);
    root_.Put(".caisson-old/0", "kept");
    Staging::Recover(root_.fd());
    EXPECT_EQ(root_.Get(".caisson-old/0"), "kept") << manifest;
    EXPECT_EQ(root_.Get("a.txt"), "alpha");
  }
}

}  // namespace
}  // namespace caisson::workspace
