#include "server/warm_packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class WarmPackagesTest : public testing::Test {
 protected:
  WarmPackagesTest() { std::filesystem::remove_all(directory_); }
  ~WarmPackagesTest() override { std::filesystem::remove_all(directory_); }

  void WriteFile(const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    std::ofstream(path_) << text;
  }

  const std::string directory_ = testing::TempDir() + "warm_packages_test";
  const std::string path_ = directory_ + "/caisson/warm-packages";
};

TEST_F(WarmPackagesTest, NothingIsWarmAtTheFirstStart) {
  EXPECT_THAT(WarmPackages(path_).latest(), IsEmpty());
}

TEST_F(WarmPackagesTest, TheNextStartWarmsTheLatestPackagesFirst) {
  {
    WarmPackages packages(path_);
    packages.Note({"numpy"});
    packages.Note({"pandas", "numpy"});
    packages.Note({"numpy"});
  }
  EXPECT_THAT(WarmPackages(path_).latest(),
              ElementsAre(ElementsAre("numpy", "pandas"), ElementsAre("numpy")));
}

TEST_F(WarmPackagesTest, PackagesOfEarlierStartsComeLast) {
  WarmPackages(path_).Note({"numpy"});
  WarmPackages(path_).Note({"matplotlib"});
  EXPECT_THAT(WarmPackages(path_).latest(),
              ElementsAre(ElementsAre("matplotlib"), ElementsAre("numpy")));
}

TEST_F(WarmPackagesTest, OnlyAFewAreWarmedAndKept) {
  {
    WarmPackages packages(path_);
    for (int i = 0; i < 100; ++i) packages.Note({"m" + std::to_string(i)});
  }
  EXPECT_THAT(WarmPackages(path_).latest(), SizeIs(WarmPackages::kMostWarm));
  EXPECT_LT(std::filesystem::file_size(path_), 1000u);
}

TEST_F(WarmPackagesTest, ADamagedFileIsAnEmptyOne) {
  WriteFile("../../etc\n" + std::string(100'000, 'x') + "\n\n\x01\n");
  EXPECT_THAT(WarmPackages(path_).latest(), IsEmpty());
}

TEST_F(WarmPackagesTest, ALinkIsNotFollowed) {
  WriteFile("numpy\n");
  std::filesystem::rename(path_, path_ + "2");
  std::filesystem::create_symlink(path_ + "2", path_);
  EXPECT_THAT(WarmPackages(path_).latest(), IsEmpty());
}

TEST_F(WarmPackagesTest, ADirectoryThatCannotBeWrittenIsNoError) {
  WarmPackages packages("/proc/nothing/caisson/warm-packages");
  packages.Note({"numpy"});
  EXPECT_THAT(packages.latest(), IsEmpty());
}

TEST_F(WarmPackagesTest, TheFileIsInTheUsersCache) {
  EXPECT_EQ(WarmFileOf({{"HOME", "/home/ann"}}), "/home/ann/.cache/caisson/warm-packages");
  EXPECT_EQ(WarmFileOf({{"HOME", "/home/ann"}, {"XDG_CACHE_HOME", "/c"}}),
            "/c/caisson/warm-packages");
  EXPECT_EQ(WarmFileOf({{"HOME", "relative"}}), "");
  EXPECT_EQ(WarmFileOf({}), "");
}

}  // namespace
}  // namespace caisson
