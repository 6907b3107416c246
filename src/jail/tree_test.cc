#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "jail/kernel_identity.h"
#include "jail/mount_tree.h"
#include "jail/owners.h"
#include "jail/testing/namespaces.h"

namespace caisson::jail {
namespace {

using ::testing::HasSubstr;

class TreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SkipWithoutSysAdmin();
    std::string pattern = (std::filesystem::temp_directory_path() / "tree_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    std::ofstream(path_ / "file") << "text";
    directory_ = UniqueFd(::open(pattern.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  void GiveFileTo(uid_t user) const { ASSERT_EQ(::chown((path_ / "file").c_str(), user, user), 0); }

  std::filesystem::path path_;
  UniqueFd directory_;
};

struct stat StatusIn(const UniqueFd& tree, const char* name) {
  struct stat status{};
  EXPECT_EQ(::fstatat(tree.get(), name, &status, 0), 0);
  return status;
}

// As root has it in a container: capabilities belong to the thread.
Result<UniqueFd> DetachWithoutSysAdmin(const UniqueFd& directory, TreeUse use) {
  std::optional<Result<UniqueFd>> tree;
  std::thread([&] {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> data{};
    EXPECT_EQ(::syscall(SYS_capget, &header, data.data()), 0);
    data[0].effective &= ~(1U << CAP_SYS_ADMIN);
    EXPECT_EQ(::syscall(SYS_capset, &header, data.data()), 0);
    tree = DetachTree(directory, use);
  }).join();
  return *std::move(tree);
}

TEST_F(TreeTest, FilesOfEveryOwnerAreTheJailedUsersAndTheDirectoryStaysAsItIs) {
  GiveFileTo(1000);
  const auto tree = DetachTree(directory_, TreeUse::kWrite);
  ASSERT_TRUE(tree) << tree.error().message();
  EXPECT_EQ(StatusIn(*tree, "file").st_uid, ChooseIds().host_uid);
  EXPECT_EQ(StatusIn(*tree, "file").st_size, 4);
  EXPECT_EQ(StatusIn(*tree, ".").st_uid, ChooseIds().host_uid);
  EXPECT_EQ(StatusIn(directory_, "file").st_uid, 1000u);
  EXPECT_LT(::openat(tree->get(), "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 0);
  EXPECT_EQ(errno, EROFS);
}

TEST_F(TreeTest, ATreeOfManyFilesAndSeveralOwnersIsRefusedWithTheReason) {
  GiveFileTo(1000);
  for (std::size_t i = 0; i < kMaxOwnedEntries; ++i) {
    const UniqueFd made(::open((path_ / std::to_string(i)).c_str(), O_CREAT | O_CLOEXEC, 0600));
  }
  ASSERT_EQ(::chown((path_ / "0").c_str(), 1000, 1000), 0);
  const auto others = HasOtherOwners(directory_);
  ASSERT_TRUE(others);
  const auto tree = DetachTree(directory_, TreeUse::kWrite);
  if (!*others) GTEST_SKIP() << "the file system lists the files of others last";
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_THAT(tree.error().message(), HasSubstr("belong to other users"));
}

TEST_F(TreeTest, WhereOwnersCannotBeMappedADirectoryOfAnotherUserIsRefusedForWriting) {
  EXPECT_TRUE(DetachWithoutSysAdmin(directory_, TreeUse::kRead));
  const auto tree = DetachWithoutSysAdmin(directory_, TreeUse::kWrite);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(tree.error().message(), HasSubstr("cannot write to a directory of user 0"));
  ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
  EXPECT_TRUE(DetachWithoutSysAdmin(directory_, TreeUse::kWrite));
}

}  // namespace
}  // namespace caisson::jail
