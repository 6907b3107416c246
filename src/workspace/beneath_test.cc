#include "workspace/beneath.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "workspace/testing/test_directory.h"

namespace caisson::workspace {
namespace {

using wire::FileError;

class BeneathTest : public testing::Test {
 protected:
  std::string Names(const std::string& path) {
    const auto entries = ListBeneath(root_.fd(), path);
    if (!entries) return "error " + std::to_string(static_cast<int>(entries.error()));
    std::string names;
    for (const HostEntry& entry : *entries) names += entry.name + (entry.directory ? "/ " : " ");
    return names;
  }
  wire::FileVersion Version(const std::string& name) {
    struct ::stat stat{};
    EXPECT_EQ(::lstat((root_.path() / name).c_str(), &stat), 0);
    return VersionOf(stat);
  }
  std::expected<std::string, FileError> Read(const std::string& name) {
    return ReadBeneath(root_.fd(), {.path = name, .version = Version(name), .length = 1000});
  }

  TestDirectory root_;
};

TEST_F(BeneathTest, ListsFilesAndDirectoriesInOrder) {
  root_.Put("b.txt", "beta");
  root_.Put("a.txt", "alpha");
  root_.Put("d/c.txt", "gamma");
  root_.Put(".caisson-1/0", "ours");
  root_.Put("d/.caisson-1", "theirs");
  EXPECT_EQ(Names(""), "a.txt b.txt d/ ");
  EXPECT_EQ(Names("d"), ".caisson-1 c.txt ");
  EXPECT_EQ(Names("nothing"), "error 1");
  EXPECT_EQ(Names("a.txt"), "error 1");
  EXPECT_EQ(ListBeneath(root_.fd(), "")->front().version, Version("a.txt"));
}

TEST_F(BeneathTest, ReadsRanges) {
  root_.Put("a.txt", "alphabet");
  const wire::FileVersion version = Version("a.txt");
  const auto read = [&](std::uint64_t offset, std::uint32_t length) {
    return *ReadBeneath(root_.fd(),
                        {.path = "a.txt", .version = version, .offset = offset, .length = length});
  };
  EXPECT_EQ(read(0, 5), "alpha");
  EXPECT_EQ(read(5, 100), "bet");
  EXPECT_EQ(read(8, 1), "");
  EXPECT_EQ(read(std::uint64_t{1} << 60, 1), "");
}

TEST_F(BeneathTest, OnlyRegularFilesAreShownAndRead) {
  TestDirectory outside;
  outside.Put("secret", "secret");
  root_.Put("real", "real");
  std::filesystem::create_symlink(outside.path() / "secret", root_.path() / "link");
  std::filesystem::create_symlink("real", root_.path() / "inner");
  std::filesystem::create_directory_symlink(outside.path(), root_.path() / "linked");
  ASSERT_EQ(::mkfifo((root_.path() / "pipe").c_str(), 0666), 0);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  ::sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string name = (root_.path() / "socket").string();
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<::sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(Names(""), "real ");
  EXPECT_EQ(Names("linked"), "error 1");
  // Opening a pipe without a writer would block.
  for (const char* odd : {"link", "inner", "pipe", "socket"}) {
    EXPECT_EQ(Read(odd), std::unexpected(FileError::kGone)) << odd;
  }
  const HostRange through{.path = "linked/secret", .version = {}, .length = 10};
  EXPECT_EQ(ReadBeneath(root_.fd(), through), std::unexpected(FileError::kGone));
}

TEST_F(BeneathTest, DevicesAreNeitherShownNorRead) {
  const UniqueFd dev(::open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct ::stat stat{};
  ASSERT_EQ(::stat("/dev/zero", &stat), 0);
  EXPECT_EQ(ReadBeneath(dev, {.path = "zero", .version = VersionOf(stat), .length = 10}),
            std::unexpected(FileError::kGone));
  const auto entries = ListBeneath(dev, "");
  ASSERT_TRUE(entries);
  for (const HostEntry& entry : *entries) EXPECT_NE(entry.name, "zero");
}

TEST_F(BeneathTest, PathsThatLeadOutAreNone) {
  for (const char* path : {"..", "../x", "/etc", "a/../b", "./a", "a/", "/", "a//b", "."}) {
    EXPECT_FALSE(IsPlainPath(path)) << path;
    EXPECT_FALSE(ListBeneath(root_.fd(), path)) << path;
    EXPECT_FALSE(ReadBeneath(root_.fd(), {.path = path, .version = {}, .length = 1})) << path;
  }
  EXPECT_FALSE(IsPlainPath(std::string("a\0b", 3)));
  EXPECT_FALSE(IsPlainPath("\xFF"));
  EXPECT_FALSE(IsPlainPath(std::string(256, 'x')));
  EXPECT_TRUE(IsPlainPath(""));
  EXPECT_TRUE(IsPlainPath("a/b c/ä"));
}

TEST_F(BeneathTest, AHugeSparseFileCostsOnlyTheBytesRead) {
  root_.Put("sparse", "");
  std::filesystem::resize_file(root_.path() / "sparse", std::uintmax_t{1} << 40);
  const auto bytes = ReadBeneath(root_.fd(), {.path = "sparse",
                                              .version = Version("sparse"),
                                              .offset = std::uint64_t{1} << 39,
                                              .length = wire::kMaxReadBytes,
                                              .exact = true});
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, std::string(wire::kMaxReadBytes, '\0'));
}

TEST_F(BeneathTest, AChangedFileIsToldFromTheOneThatWasListed) {
  root_.Put("a.txt", "alpha");
  const wire::FileVersion listed = Version("a.txt");
  const auto read = [&](bool exact) {
    return ReadBeneath(root_.fd(),
                       {.path = "a.txt", .version = listed, .length = 5, .exact = exact});
  };
  EXPECT_EQ(read(true), "alpha");
  {
    std::ofstream(root_.path() / "a.txt", std::ios::app) << "more";
  }
  EXPECT_EQ(read(false), "alpha");
  EXPECT_EQ(read(true), std::unexpected(FileError::kChanged));
  root_.Put("other", "other");
  std::filesystem::rename(root_.path() / "other", root_.path() / "a.txt");
  EXPECT_EQ(read(false), std::unexpected(FileError::kChanged));
}

// A link that replaces a file or directory during a read is never followed.
TEST_F(BeneathTest, LinksSwappedInWhileReadingAreNeverFollowed) {
  TestDirectory outside;
  outside.Put("f", "SECRET");
  root_.Put("d/f", "public");
  std::filesystem::create_directory_symlink(outside.path(), root_.path() / "evil");
  std::filesystem::create_symlink(outside.path() / "f", root_.path() / "evil_file");
  std::atomic<bool> stop = false;
  const auto swap = [&](const char* a, const char* b) {
    (void)::renameat2(root_.fd().get(), a, root_.fd().get(), b, RENAME_EXCHANGE);
  };
  std::thread swapper([&] {
    while (!stop) {
      swap("d", "evil");
      swap("d", "evil");
      swap("d/f", "evil_file");
      swap("d/f", "evil_file");
    }
  });
  const std::uint64_t secret_inode = [&] {
    struct ::stat stat{};
    EXPECT_EQ(::stat((outside.path() / "f").c_str(), &stat), 0);
    return stat.st_ino;
  }();
  int reads = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (const auto entries = ListBeneath(root_.fd(), "d"); entries && !entries->empty()) {
      EXPECT_NE(entries->front().version.inode, secret_inode);
      const auto bytes = ReadBeneath(
          root_.fd(), {.path = "d/f", .version = entries->front().version, .length = 10});
      if (bytes) EXPECT_EQ(*bytes, "public");
      reads += bytes ? 1 : 0;
    }
    // Not even by its own inode.
    EXPECT_FALSE(
        ReadBeneath(root_.fd(), {.path = "d/f", .version = {.inode = secret_inode}, .length = 10}));
  }
  stop = true;
  swapper.join();
  EXPECT_GT(reads, 0);
}

}  // namespace
}  // namespace caisson::workspace
