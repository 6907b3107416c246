#include "server/installation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace caisson {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class InstallationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "caisson-installation-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    place_ = name;
  }
  void TearDown() override { fs::remove_all(place_); }
  void Put(const char* name) const { std::ofstream(place_ / name) << "x"; }

  fs::path place_;
};

TEST_F(InstallationTest, BothPartsAreFound) {
  Put("caisson-worker");
  Put("caisson.base");
  const auto found = FindInstallation(place_);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->worker_path, place_ / "caisson-worker");
  EXPECT_EQ(found->base_path, place_ / "caisson.base");
}

TEST_F(InstallationTest, TheForkServerMayBeMissing) {
  Put("caisson-worker");
  Put("caisson.base");
  EXPECT_EQ(FindInstallation(place_)->fork_server_path, "");
  Put("caisson-forkserver");
  EXPECT_EQ(FindInstallation(place_)->fork_server_path, place_ / "caisson-forkserver");
}

TEST_F(InstallationTest, TheMissingPartIsNamed) {
  Put("caisson-worker");
  const auto found = FindInstallation(place_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message(), HasSubstr("caisson.base"));
}

TEST_F(InstallationTest, ADirectoryIsNoPart) {
  Put("caisson.base");
  fs::create_directory(place_ / "caisson-worker");
  const auto found = FindInstallation(place_);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr("caisson-worker"));
}

TEST_F(InstallationTest, AnEmptyPlaceIsNamed) {
  const auto found = FindInstallation(place_);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr(place_.string()));
}

}  // namespace
}  // namespace caisson
