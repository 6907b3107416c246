#include "base/tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace caisson {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

class TreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tree-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    place_ = pattern;
    fs::permissions(place_, fs::perms::all);
  }
  void TearDown() override { fs::remove_all(place_); }

  static void Write(const fs::path& path, std::size_t bytes) {
    std::ofstream(path) << std::string(bytes, 'x');
  }
  TreeSize Measured(std::size_t most) const {
    const UniqueFd directory(::open(place_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return MeasureTree(directory, most);
  }

  fs::path place_;
};

TEST_F(TreeTest, TreesAreMeasured) {
  fs::create_directories(place_ / "a/b");
  Write(place_ / "a/b/file", 100'000);
  fs::create_symlink("/", place_ / "link");
  const TreeSize all = Measured(100);
  EXPECT_TRUE(all.whole);
  EXPECT_EQ(all.entries, 4U);
  EXPECT_GE(all.bytes, 100'000U);
  EXPECT_FALSE(Measured(3).whole);
}

// Runs `work` in a thread that has the rights of an ordinary user. The kernel's call changes one
// thread; that of the C library would change all.
template <typename Work>
void AsOrdinaryUser(Work work) {
  std::thread([&work] {
    if (::geteuid() == 0) ASSERT_EQ(::syscall(SYS_setresuid, kNobody, kNobody, kNobody), 0);
    work();
  }).join();
}

TEST_F(TreeTest, DirectoriesThatCannotBeListedAreMeasuredAndRemoved) {
  AsOrdinaryUser([this] {
    fs::create_directories(place_ / "top");
    ASSERT_EQ(::mkdir((place_ / "top/hidden").c_str(), 0300), 0);
    Write(place_ / "top/hidden/file", 100'000);
    EXPECT_GE(Measured(100).bytes, 100'000U);
    ASSERT_EQ(::chmod((place_ / "top/hidden").c_str(), 0300), 0);
    EXPECT_TRUE(RemoveTree(AT_FDCWD, (place_ / "top").c_str()));
  });
  EXPECT_TRUE(fs::is_empty(place_));
}

TEST_F(TreeTest, RemovingReportsWhetherTheDirectoryIsGone) {
  EXPECT_TRUE(RemoveTree(AT_FDCWD, (place_ / "none").c_str()));
  Write(place_ / "file", 1);
  EXPECT_FALSE(RemoveTree(AT_FDCWD, (place_ / "file").c_str()));
}

}  // namespace
}  // namespace caisson
