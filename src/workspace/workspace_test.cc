#include "workspace/workspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>
#include <future>

#include "workspace/beneath.h"
#include "workspace/testing/test_directory.h"

namespace caisson::workspace {
namespace {

using testing::HasSubstr;

class WorkspaceTest : public testing::Test {
 protected:
  WorkspaceTest() { root_.Put("a.txt", "alpha"); }

  std::shared_ptr<Workspace> Open(MountMode mode) {
    auto opened = Workspace::Open(
        {{.host = root_.path().string(), .point = {.guest_path = "/data", .mode = mode}}},
        {.pool = pool_.get_executor()});
    EXPECT_TRUE(opened);
    return *opened;
  }
  wire::FileVersion Version(const std::string& name) {
    struct ::stat stat{};
    if (::lstat((root_.path() / name).c_str(), &stat) != 0) return {};
    return VersionOf(stat);
  }
  // Adds a change as a cell reports it.
  void Add(const std::string& path, FileChange change, std::string contents,
           std::uint32_t mount = 0) {
    changes_.push_back({.mount = mount,
                        .path = path,
                        .change = change,
                        .seen = seen_.contains(path) ? seen_[path] : Version(path),
                        .file = outcome_.files.size()});
    outcome_.files.push_back(
        {.path = "/data/" + path, .size = contents.size(), .contents = std::move(contents)});
  }
  Outcome Settle(const std::shared_ptr<Workspace>& workspace,
                 RunStatus status = RunStatus::kCompleted) {
    outcome_.status = status;
    outcome_.reason = RunReason::kReturned;
    std::promise<Result<Outcome>> settled;
    workspace->Settle(std::exchange(changes_, {}), std::exchange(outcome_, {}),
                      [&](Result<Outcome> outcome) { settled.set_value(std::move(outcome)); });
    return *settled.get_future().get();
  }

  TestDirectory root_;
  boost::asio::thread_pool pool_{2};
  std::vector<HostChange> changes_;
  Outcome outcome_;
  std::map<std::string, wire::FileVersion> seen_;
};

TEST_F(WorkspaceTest, ListsAndReadsOnThePool) {
  const auto workspace = Open(MountMode::kReadOnly);
  std::promise<std::vector<HostEntry>> listed;
  workspace->List(0, "", [&](auto entries) { listed.set_value(*std::move(entries)); });
  const auto entries = listed.get_future().get();
  ASSERT_EQ(entries.size(), 1U);
  std::promise<std::string> read;
  workspace->Read(0, {.path = "a.txt", .version = entries[0].version, .length = 100},
                  [&](auto bytes) { read.set_value(*std::move(bytes)); });
  EXPECT_EQ(read.get_future().get(), "alpha");
}

TEST_F(WorkspaceTest, ACompletedRunsChangesAreApplied) {
  Add("a.txt", FileChange::kModified, "ALPHA");
  Add("b.txt", FileChange::kCreated, "beta");
  const Outcome outcome = Settle(Open(MountMode::kReadWrite));
  EXPECT_EQ(outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(outcome.files.size(), 2U);
  EXPECT_EQ(root_.Get("a.txt"), "ALPHA");
  EXPECT_EQ(root_.Tree(), "a.txt b.txt ");
}

TEST_F(WorkspaceTest, AnOverlayAndAFailedRunChangeNothing) {
  Add("a.txt", FileChange::kModified, "ALPHA");
  EXPECT_EQ(Settle(Open(MountMode::kOverlay)).files.size(), 1U);
  EXPECT_EQ(root_.Get("a.txt"), "alpha");
  Add("a.txt", FileChange::kModified, "ALPHA");
  const Outcome failed = Settle(Open(MountMode::kReadWrite), RunStatus::kFailed);
  EXPECT_EQ(failed.files.size(), 1U);
  EXPECT_FALSE(failed.error);
  EXPECT_EQ(root_.Get("a.txt"), "alpha");
}

TEST_F(WorkspaceTest, AFileWithTheSameContentsIsNotModified) {
  const wire::FileVersion before = Version("a.txt");
  Add("a.txt", FileChange::kModified, "alpha");
  Add("b.txt", FileChange::kCreated, "beta");
  const Outcome outcome = Settle(Open(MountMode::kReadWrite));
  ASSERT_EQ(outcome.files.size(), 1U);
  EXPECT_EQ(outcome.files[0].path, "/data/b.txt");
  EXPECT_EQ(Version("a.txt"), before);
}

TEST_F(WorkspaceTest, AConflictFailsTheRunAndSaysWhere) {
  Add("a.txt", FileChange::kModified, "mine");
  Add("b.txt", FileChange::kCreated, "beta");
  root_.Put("a.txt", "theirs, and longer");
  const Outcome outcome = Settle(Open(MountMode::kReadWrite));
  EXPECT_EQ(outcome.status, RunStatus::kFailed);
  EXPECT_EQ(outcome.reason, RunReason::kFiles);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->type, "MountConflict");
  EXPECT_THAT(outcome.error->message, HasSubstr("/data: a.txt was changed on the host"));
  EXPECT_EQ(outcome.files.size(), 2U);  // The run's files are still in the outcome.
  EXPECT_EQ(root_.Tree(), "a.txt ");
  EXPECT_EQ(root_.Get("a.txt"), "theirs, and longer");
}

TEST_F(WorkspaceTest, AFileThatWasLeftOutKeepsAllFromBeingApplied) {
  Add("a.txt", FileChange::kModified, "ALPHA");
  Add("big", FileChange::kCreated, "");
  changes_.back().omitted = "larger than one file may be (file_bytes)";
  const Outcome outcome = Settle(Open(MountMode::kReadWrite));
  EXPECT_EQ(outcome.status, RunStatus::kFailed);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->type, "MountError");
  EXPECT_THAT(outcome.error->message, HasSubstr("/data/big is left out"));
  EXPECT_EQ(root_.Get("a.txt"), "alpha");
}

TEST_F(WorkspaceTest, ChangesOfAnUnknownExtentAreNotApplied) {
  Add("a.txt", FileChange::kModified, "ALPHA");
  changes_.push_back({.omitted = "more was changed"});
  EXPECT_EQ(Settle(Open(MountMode::kReadWrite)).reason, RunReason::kFiles);
  EXPECT_EQ(root_.Get("a.txt"), "alpha");
  Add("a.txt", FileChange::kModified, "ALPHA");
  changes_.push_back({.omitted = "more was changed"});
  EXPECT_EQ(Settle(Open(MountMode::kOverlay)).status, RunStatus::kCompleted);
}

// The cell of a session reports differences from the state that it first saw.
TEST_F(WorkspaceTest, ASessionsNextRunFindsTheAppliedChangesOfTheLastOne) {
  seen_ = {{"a.txt", Version("a.txt")}, {"b.txt", {}}, {"c.txt", {}}};
  root_.Put("gone.txt", "gone");
  seen_["gone.txt"] = Version("gone.txt");
  const auto workspace = Open(MountMode::kReadWrite);
  Add("a.txt", FileChange::kModified, "one");
  Add("b.txt", FileChange::kCreated, "b one");
  Add("gone.txt", FileChange::kDeleted, "");
  ASSERT_EQ(Settle(workspace).status, RunStatus::kCompleted);
  EXPECT_EQ(root_.Tree(), "a.txt b.txt ");

  Add("a.txt", FileChange::kModified, "two");
  Add("b.txt", FileChange::kCreated, "b one");
  Add("c.txt", FileChange::kCreated, "c");
  Add("gone.txt", FileChange::kModified, "back");
  const Outcome outcome = Settle(workspace);
  ASSERT_EQ(outcome.status, RunStatus::kCompleted) << outcome.error->message;
  EXPECT_EQ(root_.Get("a.txt"), "two");
  EXPECT_EQ(root_.Get("gone.txt"), "back");
  EXPECT_EQ(root_.Tree(), "a.txt b.txt c.txt gone.txt ");

  // A real conflict is still reported.
  root_.Put("a.txt", "theirs, and longer");
  Add("a.txt", FileChange::kModified, "three");
  EXPECT_EQ(Settle(workspace).reason, RunReason::kFiles);
}

TEST_F(WorkspaceTest, AllMountsOrNone) {
  TestDirectory second;
  second.Put("x.txt", "x");
  auto workspace =
      Workspace::Open({{.host = root_.path().string(),
                        .point = {.guest_path = "/data", .mode = MountMode::kReadWrite}},
                       {.host = second.path().string(),
                        .point = {.guest_path = "/more", .mode = MountMode::kReadWrite}}},
                      {.pool = pool_.get_executor()});
  ASSERT_TRUE(workspace);
  Add("a.txt", FileChange::kModified, "ALPHA");
  seen_["x.txt"] = {.inode = 1, .size = 1, .modified_ns = 1};
  Add("x.txt", FileChange::kModified, "X", 1);
  EXPECT_EQ(Settle(*workspace).reason, RunReason::kFiles);
  EXPECT_EQ(root_.Get("a.txt"), "alpha");
  EXPECT_EQ(root_.Tree(), "a.txt ");
  EXPECT_EQ(second.Tree(), "x.txt ");
}

TEST_F(WorkspaceTest, OpeningRemovesWhatACrashLeft) {
  root_.Put(".caisson-0123/0", "staged, never applied");
  Open(MountMode::kReadOnly);
  EXPECT_EQ(root_.Tree(), ".caisson-0123/ .caisson-0123/0 a.txt ");
  Open(MountMode::kReadWrite);
  EXPECT_EQ(root_.Tree(), "a.txt ");
}

}  // namespace
}  // namespace caisson::workspace
