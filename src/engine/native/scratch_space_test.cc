#include "engine/native/scratch_space.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace caisson {
namespace {

namespace fs = std::filesystem;

class ScratchSpaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "scratch-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    place_ = pattern;
  }
  void TearDown() override { fs::remove_all(place_); }

  static UniqueFd Directory(const fs::path& path) {
    fs::create_directories(path);
    return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  static void Write(const fs::path& path, std::size_t bytes) {
    std::ofstream(path) << std::string(bytes, 'x');
  }

  fs::path place_;
};

TEST_F(ScratchSpaceTest, EverythingIsGoneWithIt) {
  {
    const auto space = *ScratchSpace::Open(place_);
    const UniqueFd cell = Directory(fs::path(space->path()) / "1");
    Write(fs::path(space->path()) / "1/file", 10);
  }
  EXPECT_TRUE(fs::is_empty(place_));
}

TEST_F(ScratchSpaceTest, TheNextHostRemovesWhatAKilledHostLeft) {
  const fs::path left = place_ / "caisson-cells-abcdef";
  fs::create_directories(left / "7/output/deep");
  Write(left / "7/output/file", 10);
  Write(left / "lock", 0);
  const auto living = *ScratchSpace::Open(place_);
  EXPECT_FALSE(fs::exists(left));
  // The directory of a live host is not removed.
  const auto other = *ScratchSpace::Open(place_);
  EXPECT_TRUE(fs::exists(living->path()));
}

TEST_F(ScratchSpaceTest, LinksAreRemovedAndNotFollowed) {
  Write(place_ / "precious", 10);
  fs::create_directories(place_ / "directory");
  Write(place_ / "directory/precious", 10);
  {
    const auto space = *ScratchSpace::Open(place_);
    const fs::path cell = fs::path(space->path()) / "1";
    fs::create_directories(cell);
    fs::create_symlink(place_ / "precious", cell / "file");
    fs::create_directory_symlink(place_ / "directory", cell / "to_directory");
  }
  EXPECT_TRUE(fs::exists(place_ / "precious"));
  EXPECT_TRUE(fs::exists(place_ / "directory/precious"));
}

TEST_F(ScratchSpaceTest, DeepTreesAreRemoved) {
  {
    const auto space = *ScratchSpace::Open(place_);
    fs::path deep = fs::path(space->path()) / "1";
    for (int i = 0; i < 300; ++i) deep /= "d";
    fs::create_directories(deep);
  }
  EXPECT_TRUE(fs::is_empty(place_));
}

TEST_F(ScratchSpaceTest, APlaceThatCannotBeWrittenToIsNamed) {
  const auto space = ScratchSpace::Open("/proc/none");
  ASSERT_FALSE(space);
  EXPECT_NE(space.error().message().find("/proc/none"), std::string::npos);
  EXPECT_NE(space.error().message().find("[engine] scratch"), std::string::npos);
}

TEST_F(ScratchSpaceTest, ItsPathIsAbsoluteAndWithoutLinks) {
  fs::create_directory_symlink(place_, place_ / "link");
  const auto space = *ScratchSpace::Open(place_ / "link");
  EXPECT_EQ(fs::path(space->path()).parent_path(), fs::canonical(place_));
}

}  // namespace
}  // namespace caisson
