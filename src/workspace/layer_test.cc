#include "workspace/layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "workspace/testing/test_directory.h"

namespace caisson::workspace {
namespace {

using Kind = LayerEntry::Kind;
using std::chrono::system_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LayerTest : public ::testing::Test {
 protected:
  LayerTest() {
    directory_.Put("a.txt", "a");
    directory_.Put("d/b.txt", "b");
    directory_.Put("d/e/c.txt", "c");
    auto opened = OpenMounts({{.host = directory_.path().string(),
                               .point = {.guest_path = "/data", .mode = MountMode::kReadWrite}}},
                             {});
    EXPECT_TRUE(opened) << opened.error().message();
    mounts_ = *std::move(opened);
  }

  static LayerEntry File(const std::string& path, bool copied = false) {
    return {.path = path,
            .copied = copied,
            .file = {.path = "/data/" + path, .change = "created", .size = 1, .contents = "n"}};
  }
  static LayerEntry Directory(const std::string& path, bool opaque = false) {
    return {.path = path, .kind = Kind::kDirectory, .opaque = opaque};
  }
  static LayerEntry Removed(const std::string& path) {
    return {.path = path, .kind = Kind::kRemoved};
  }

  // Reads as if all files had existed before the run.
  LayerChanges Read(std::vector<LayerEntry> entries,
                    system_clock::time_point since = system_clock::now() + std::chrono::hours(1),
                    std::size_t max_files = 100) {
    files_.clear();
    return ChangesOf(
        mounts_, {.entries = std::move(entries), .since = since, .max_files = max_files}, files_);
  }
  std::vector<std::string> Seen(const LayerChanges& read) const {
    static constexpr const char* kChanges[] = {"created ", "modified ", "deleted "};
    std::vector<std::string> seen;
    for (const HostChange& change : read.changes) {
      seen.push_back(kChanges[static_cast<int>(change.change)] + change.path +
                     (change.file == HostChange::kNoFile ? "/" : "") + change.omitted);
    }
    return seen;
  }

  TestDirectory directory_;
  std::vector<Mount> mounts_;
  std::vector<OutcomeFile> files_;
};

TEST_F(LayerTest, ExistingFilesAreModifiedAndOthersCreated) {
  const LayerChanges read =
      Read({File("a.txt", true), Directory("d"), File("d/new"), Directory("n")});
  EXPECT_THAT(Seen(read), ElementsAre("modified a.txt", "created d/new", "created n/"));
  EXPECT_FALSE(read.conflict);
  EXPECT_EQ(files_.at(0).change, "modified");
  EXPECT_NE(read.changes.at(0).seen.inode, 0u);
}

TEST_F(LayerTest, ARemovedDirectoryIsAllItsFiles) {
  EXPECT_THAT(Seen(Read({Removed("d"), Removed("never/was")})),
              ElementsAre("deleted d/b.txt", "deleted d/e/c.txt", "deleted d/e/", "deleted d/"));
  EXPECT_THAT(files_.at(0).path, "/data/d/b.txt");
}

TEST_F(LayerTest, ARecreatedDirectoryKeepsTheFilesOfTheLayer) {
  EXPECT_THAT(Seen(Read({Directory("d", true), File("d/b.txt")})),
              ElementsAre("deleted d/e/c.txt", "deleted d/e/", "modified d/b.txt"));
}

TEST_F(LayerTest, AFileInTheDirectorysPlaceRemovesIt) {
  EXPECT_THAT(Seen(Read({File("d")})), ElementsAre("deleted d/b.txt", "deleted d/e/c.txt",
                                                   "deleted d/e/", "deleted d/", "created d"));
}

TEST_F(LayerTest, AChangeOnTheHostDuringTheRunIsAConflict) {
  const auto long_ago = system_clock::time_point();
  for (auto entry : {File("a.txt"), Removed("d"), Removed("a.txt")}) {
    const LayerChanges read = Read({entry}, long_ago);
    ASSERT_TRUE(read.conflict) << entry.path;
    EXPECT_THAT(read.conflict->message(), HasSubstr("was changed on the host"));
  }
  EXPECT_TRUE(Read({File("gone", true)}, long_ago).conflict);  // It may have been removed.
  EXPECT_FALSE(Read({File("new")}, long_ago).conflict);
}

TEST_F(LayerTest, AFileMissingFromAnUnchangedDirectoryWasMovedByTheRun) {
  EXPECT_THAT(Seen(Read({Removed("a.txt"), File("d/q", true), Directory("n"), File("n/q", true)})),
              ElementsAre("deleted a.txt", "created d/q", "created n/", "created n/q"));
  EXPECT_FALSE(Read({File("d/q", true), File("n/q", true)}).conflict);
}

TEST_F(LayerTest, AnOverlayHasNoConflicts) {
  mounts_[0].point.mode = MountMode::kOverlay;
  EXPECT_FALSE(Read({File("a.txt")}, system_clock::time_point()).conflict);
}

TEST_F(LayerTest, RemovalsHaveAnEnd) {
  const auto seen = Seen(Read({Removed("d")}, system_clock::now() + std::chrono::hours(1), 1));
  EXPECT_THAT(seen, ElementsAre("deleted d/b.txt", "deleted d/e/c.txttoo many files"));
}

TEST_F(LayerTest, LinksOfTheHostAreNotFollowed) {
  std::filesystem::create_directory_symlink("/etc", directory_.path() / "link");
  EXPECT_THAT(Seen(Read({Removed("link/passwd"), File("link/passwd")})),
              ElementsAre("created link/passwd"));
}

}  // namespace
}  // namespace caisson::workspace
