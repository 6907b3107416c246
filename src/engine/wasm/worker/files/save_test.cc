#include <gtest/gtest.h>

#include <array>
#include <random>

#include "engine/wasm/worker/files/cell_files.h"
#include "engine/wasm/worker/files/library_fixture.h"

namespace caisson::worker {
namespace {

constexpr std::uint32_t kRoot = CellFiles::kRootDescriptor;
constexpr OpenOptions kMake = {.create = true, .read = true, .write = true};

class SaveTest : public testing::Test {
 protected:
  SaveTest()
      : packed_(PackLibrary({{"lib/os.py", "import sys"}, {"lib/json/a.py", "J"}})),
        saved_(services_),
        restored_(services_) {
    Start(saved_);
    Start(restored_);
  }

  void Start(CellFiles& files, const FileLimits& limits = {.file_bytes = 1 << 20}) {
    const auto text = [](const char* value) { return std::make_shared<const std::string>(value); };
    EXPECT_TRUE(files.Start(*LibraryImage::Parse(BytesOf(packed_)),
                            {{"/input/a.csv", text("1,2,3")},
                             {"/output/old.txt", text("old")},
                             {"/output/gone.txt", text("gone")}},
                            limits));
  }

  // Makes files of every kind and opens them in every way.
  void Use(CellFiles& files) {
    EXPECT_EQ(files.Open(kRoot, "/lib/os.py", {.read = true}), 4U);
    EXPECT_EQ(files.Seek(4, 7, Whence::kSet), 7U);
    EXPECT_EQ(files.Open(kRoot, "/lib/json", {.read = true}), 5U);
    EXPECT_EQ(files.Open(kRoot, "/input/a.csv", {.read = true}), 6U);
    EXPECT_EQ(files.Open(kRoot, "/tmp/removed", kMake), 7U);
    EXPECT_EQ(files.Write(7, BytesOf("still here")), 10U);
    EXPECT_EQ(files.Unlink(kRoot, "/tmp/removed"), Errno::kSuccess);
    EXPECT_EQ(files.MakeDirectory(kRoot, "/tmp/d"), Errno::kSuccess);
    EXPECT_EQ(files.Open(kRoot, "/tmp/d/sparse", kMake), 8U);
    EXPECT_EQ(files.WriteAt(8, 327'680, BytesOf("end")), 3U);
    EXPECT_EQ(files.Rename(kRoot, "/output/old.txt", kRoot, "/tmp/moved"), Errno::kSuccess);
    EXPECT_EQ(files.Unlink(kRoot, "/output/gone.txt"), Errno::kSuccess);
    EXPECT_EQ(files.MakeDirectory(kRoot, "/tmp/rd"), Errno::kSuccess);
    EXPECT_EQ(files.Open(kRoot, "/tmp/rd", {.read = true}), 9U);
    EXPECT_EQ(files.RemoveDirectory(kRoot, "/tmp/rd"), Errno::kSuccess);
    EXPECT_EQ(files.Open(kRoot, "/dev/urandom", {.read = true}), 10U);
    EXPECT_EQ(files.Open(kRoot, "/tmp", {.read = true}), 11U);
    EXPECT_EQ(files.Open(kRoot, "/", {.read = true}), 12U);
    EXPECT_EQ(files.Close(0), Errno::kSuccess);
    EXPECT_EQ(files.SetFlags(8, CellFiles::kAppend), Errno::kSuccess);
  }

  static std::string Saved(const CellFiles& files) {
    std::string out;
    files.Save(out);
    return out;
  }

  std::string packed_;
  FixedServices services_;
  CellFiles saved_;
  CellFiles restored_;
};

TEST_F(SaveTest, ARestoredCellIsTheSavedOne) {
  Use(saved_);
  const std::string blob = Saved(saved_);
  ASSERT_TRUE(restored_.Restore(BytesOf(blob)));
  EXPECT_EQ(Saved(restored_), blob);
  EXPECT_LT(blob.size(), 2'000U);  // The gap is not in it.
  EXPECT_FALSE(restored_.Describe(0));
  EXPECT_EQ(restored_.Seek(4, 0, Whence::kCurrent), 7U);
  std::array<std::uint8_t, 20> bytes;
  EXPECT_EQ(restored_.ReadAt(7, 0, bytes), 10U);
  EXPECT_EQ(restored_.Stat(7)->links, 0U);
  EXPECT_EQ(restored_.Stat(8)->size, 327'683U);
  EXPECT_EQ(restored_.Write(8, BytesOf("!")), 1U);
  EXPECT_EQ(restored_.Stat(8)->size, 327'684U);
  EXPECT_EQ(restored_.Stat(kRoot, "/tmp/moved")->size, 3U);
  for (const char* path : {"/", "/tmp", "/tmp/d", "/tmp/d/sparse", "/input/a.csv", "/lib/os.py"}) {
    EXPECT_EQ(restored_.Stat(kRoot, path)->inode, saved_.Stat(kRoot, path)->inode) << path;
  }
  EXPECT_EQ(restored_.Captured().files.size(), saved_.Captured().files.size());
}

TEST_F(SaveTest, CookiesSurvive) {
  Use(saved_);
  ASSERT_TRUE(restored_.Restore(BytesOf(Saved(saved_))));
  for (const std::uint32_t fd : {5U, 11U, 12U}) {
    for (std::uint64_t cookie = 0;;) {
      const auto before = *saved_.EntryAt(fd, cookie);
      const auto after = *restored_.EntryAt(fd, cookie);
      ASSERT_EQ(before.has_value(), after.has_value());
      if (!before) break;
      EXPECT_EQ(before->name, after->name);
      EXPECT_EQ(before->next_cookie, after->next_cookie);
      cookie = before->next_cookie;
    }
  }
}

TEST_F(SaveTest, AnUnusedCellIsSavedInAFewBytes) {
  CellFiles unused(services_);
  ASSERT_TRUE(unused.Start({}, {}, {}));
  const std::string blob = Saved(unused);
  EXPECT_LT(blob.size(), 120U);
  CellFiles other(services_);
  ASSERT_TRUE(other.Start({}, {}, {}));
  ASSERT_TRUE(other.Restore(BytesOf(blob)));
  EXPECT_EQ(Saved(other), blob);
}

TEST_F(SaveTest, ABlobThatExceedsTheLimitsIsRefused) {
  Use(saved_);
  const std::string blob = Saved(saved_);
  for (const FileLimits& limits : {FileLimits{.file_bytes = 1000}, FileLimits{.total_bytes = 1000},
                                   FileLimits{.inodes = 3}, FileLimits{.open_files = 3}}) {
    Start(restored_, limits);
    EXPECT_FALSE(restored_.Restore(BytesOf(blob)));
  }
}

TEST_F(SaveTest, ABlobForOtherInputsIsRefused) {
  Use(saved_);
  const std::string blob = Saved(saved_);
  ASSERT_TRUE(restored_.Start(*LibraryImage::Parse(BytesOf(packed_)), {}, {}));
  EXPECT_FALSE(restored_.Restore(BytesOf(blob)));
  EXPECT_EQ(restored_.Describe(0)->stream, Stream::kIn);  // As after Reset().
}

TEST_F(SaveTest, NoPrefixOfABlobIsTaken) {
  Use(saved_);
  const std::string blob = Saved(saved_);
  for (std::size_t length = 0; length < blob.size(); ++length) {
    Start(restored_);
    EXPECT_FALSE(restored_.Restore(BytesOf(blob).first(length))) << length;
  }
  Start(restored_);
  EXPECT_FALSE(restored_.Restore(BytesOf(blob + "x")));
}

TEST_F(SaveTest, ADamagedBlobIsRefusedOrHarmless) {
  Use(saved_);
  const std::string blob = Saved(saved_);
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = blob;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    Start(restored_);
    if (!restored_.Restore(BytesOf(damaged))) continue;
    std::array<std::uint8_t, 64> bytes;
    for (std::uint32_t fd = 0; fd < 16; ++fd) {
      (void)restored_.Read(fd, bytes);
      (void)restored_.Write(fd, bytes);
      (void)restored_.EntryAt(fd, 2);
      (void)restored_.Close(fd);
    }
    EXPECT_LT(Saved(restored_).size(), std::size_t{2} << 20);
  }
}

}  // namespace
}  // namespace caisson::worker
