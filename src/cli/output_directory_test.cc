#include "cli/output_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

namespace caisson::cli {
namespace {

namespace fs = std::filesystem;

class OutputDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "caisson-output-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
    target_ = top_ / "target";
    outside_ = top_ / "outside";
    fs::create_directory(outside_);
    Put(outside_ / "kept", "untouched");
    auto opened = OutputDirectory::Open(target_);
    ASSERT_TRUE(opened) << opened.error().message();
    directory_ = std::make_unique<OutputDirectory>(*std::move(opened));
  }
  void TearDown() override { fs::remove_all(top_); }

  static void Put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Get(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void ExpectNothingElse(std::size_t entries) const {
    EXPECT_EQ(std::distance(fs::recursive_directory_iterator(target_), {}),
              static_cast<std::ptrdiff_t>(entries));
    EXPECT_EQ(Get(outside_ / "kept"), "untouched");
    EXPECT_EQ(std::distance(fs::recursive_directory_iterator(outside_), {}), 1);
  }

  fs::path top_;
  fs::path target_;
  fs::path outside_;
  std::unique_ptr<OutputDirectory> directory_;
};

TEST_F(OutputDirectoryTest, FilesLandBelowItWithTheirDirectories) {
  ASSERT_TRUE(directory_->Save("/output/a.csv", "1,2\n"));
  ASSERT_TRUE(directory_->Save("/output/deep/er/b.bin", std::string("\0x", 2)));
  EXPECT_EQ(Get(target_ / "a.csv"), "1,2\n");
  EXPECT_EQ(Get(target_ / "deep/er/b.bin"), std::string("\0x", 2));
  ExpectNothingElse(4);
}

TEST_F(OutputDirectoryTest, AFileOfTheSameNameIsReplaced) {
  ASSERT_TRUE(directory_->Save("/output/a", "one, which is longer"));
  ASSERT_TRUE(directory_->Save("/output/a", "two"));
  EXPECT_EQ(Get(target_ / "a"), "two");
  ExpectNothingElse(1);
}

TEST_F(OutputDirectoryTest, PathsThatLeaveAreRefused) {
  for (const char* path : {"/output/../x", "/output/a/../../x", "/output/", "/output", "/etc/x",
                           "x", "/output//x", "/output/./x", "/output/x/", "/outputs/x", ""}) {
    EXPECT_FALSE(directory_->Save(path, "bad")) << path;
  }
  EXPECT_FALSE(directory_->Save(std::string_view("/output/a\0b", 11), "bad"));
  ExpectNothingElse(0);
}

TEST_F(OutputDirectoryTest, ALinkInTheWayIsReplacedAndItsTargetUntouched) {
  fs::create_symlink(outside_ / "kept", target_ / "a");
  ASSERT_TRUE(directory_->Save("/output/a", "new"));
  EXPECT_FALSE(fs::is_symlink(target_ / "a"));
  EXPECT_EQ(Get(target_ / "a"), "new");
  ExpectNothingElse(1);
}

TEST_F(OutputDirectoryTest, ALinkedDirectoryIsNotEntered) {
  fs::create_directory_symlink(outside_, target_ / "d");
  EXPECT_FALSE(directory_->Save("/output/d/kept", "bad"));
  EXPECT_FALSE(directory_->Save("/output/d/new", "bad"));
  ExpectNothingElse(1);
}

TEST_F(OutputDirectoryTest, ADirectoryInTheWayIsKeptAndNoTemporaryStays) {
  fs::create_directories(target_ / "a/b");
  EXPECT_FALSE(directory_->Save("/output/a", "bad"));
  ExpectNothingElse(2);
}

TEST_F(OutputDirectoryTest, AFileCannotBeUsedAsTheDirectory) {
  EXPECT_FALSE(OutputDirectory::Open(outside_ / "kept"));
  EXPECT_FALSE(OutputDirectory::Open(outside_ / "kept" / "below"));
}

}  // namespace
}  // namespace caisson::cli
