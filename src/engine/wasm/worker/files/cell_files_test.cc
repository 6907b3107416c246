#include "engine/wasm/worker/files/cell_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/wasm/worker/files/library_fixture.h"
#include "engine/wasm/worker/files/path.h"

namespace caisson::worker {
namespace {

using Change = CapturedFile::Change;

constexpr std::uint32_t kRoot = CellFiles::kRootDescriptor;
constexpr OpenOptions kRead = {.read = true};
constexpr OpenOptions kUpdate = {.read = true, .write = true};
constexpr OpenOptions kMake = {.create = true, .read = true, .write = true};

class CellFilesTest : public testing::Test {
 protected:
  CellFilesTest()
      : packed_(PackLibrary({{"lib/os.py", "import sys"},
                             {"lib/json/__init__.py", "J"},
                             {"lib/json/decoder.py", "D"}})),
        files_(services_) {
    Start(FileLimits());
  }

  void Start(const FileLimits& limits) {
    const auto text = [](const char* value) { return std::make_shared<const std::string>(value); };
    EXPECT_TRUE(files_.Start(*LibraryImage::Parse(BytesOf(packed_)),
                             {{"/input/a.csv", text("1,2,3")},
                              {"/input/sub/b.csv", text("b")},
                              {"/output/old.txt", text("old")},
                              {"/output/gone.txt", text("gone")},
                              {"/lib/extra.py", text("extra")}},
                             limits));
  }

  std::uint32_t Open(std::string_view path, const OpenOptions& options = kRead) {
    const auto fd = files_.Open(kRoot, path, options);
    EXPECT_TRUE(fd) << path << ": " << (fd ? 0 : static_cast<int>(fd.error()));
    return fd.value_or(~0U);
  }
  Errno OpenError(std::string_view path, const OpenOptions& options = kRead) {
    const auto fd = files_.Open(kRoot, path, options);
    return fd ? Errno::kSuccess : fd.error();
  }
  void Make(std::string_view path, std::string_view contents) {
    const std::uint32_t fd = Open(path, {.create = true, .truncate = true, .write = true});
    EXPECT_EQ(files_.Write(fd, BytesOf(contents)), contents.size());
    EXPECT_EQ(files_.Close(fd), Errno::kSuccess);
  }
  std::string ReadAll(std::uint32_t fd) {
    std::string out(1 << 16, '\0');
    const auto size = files_.Read(fd, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
    EXPECT_TRUE(size);
    out.resize(size.value_or(0));
    return out;
  }
  std::string Contents(std::string_view path) {
    const std::uint32_t fd = Open(path);
    std::string out = ReadAll(fd);
    EXPECT_EQ(files_.Close(fd), Errno::kSuccess);
    return out;
  }
  std::vector<std::string> List(std::uint32_t fd, std::uint64_t cookie = 0) {
    std::vector<std::string> names;
    while (true) {
      const auto entry = files_.EntryAt(fd, cookie);
      EXPECT_TRUE(entry);
      if (!entry || !*entry) return names;
      names.emplace_back((*entry)->name);
      cookie = (*entry)->next_cookie;
    }
  }
  std::vector<std::string> List(std::string_view path) {
    const std::uint32_t fd = Open(path);
    auto names = List(fd);
    EXPECT_EQ(files_.Close(fd), Errno::kSuccess);
    std::ranges::sort(names);
    return names;
  }
  Errno StatError(std::string_view path) {
    const auto stat = files_.Stat(kRoot, path);
    return stat ? Errno::kSuccess : stat.error();
  }
  std::uint64_t Inode(std::string_view path) {
    const auto stat = files_.Stat(kRoot, path);
    EXPECT_TRUE(stat) << path;
    return stat ? stat->inode : 0;
  }
  Errno Rename(std::string_view from, std::string_view to) {
    return files_.Rename(kRoot, from, kRoot, to);
  }

  std::string packed_;
  FixedServices services_;
  CellFiles files_;
};

using Names = std::vector<std::string>;

// ---- Reading what is given ----

TEST_F(CellFilesTest, TheLibraryAndTheHostsFilesAreRead) {
  EXPECT_EQ(Contents("lib/os.py"), "import sys");
  EXPECT_EQ(Contents("/input/a.csv"), "1,2,3");
  EXPECT_EQ(Contents("/lib/extra.py"), "extra");
}

TEST_F(CellFilesTest, APathIsNormalisedAndNeverLeavesTheRoot) {
  for (const char* path :
       {"/lib/os.py", "//lib///os.py", "./lib/./os.py", "lib/json/../os.py", "../../lib/os.py",
        "/../lib/../lib/os.py", "tmp/../lib/os.py", "input/sub/../../lib/os.py"}) {
    EXPECT_EQ(Contents(path), "import sys") << path;
  }
}

TEST_F(CellFilesTest, AWalkNeedsDirectoriesOnItsWay) {
  EXPECT_EQ(StatError("nothing/../lib/os.py"), Errno::kNoent);
  EXPECT_EQ(StatError("lib/os.py/.."), Errno::kNotdir);
  EXPECT_EQ(StatError("lib/os.py/x"), Errno::kNotdir);
  EXPECT_EQ(StatError("lib/os.py/"), Errno::kNotdir);
  EXPECT_EQ(StatError("input/a.csv/."), Errno::kNotdir);
  EXPECT_EQ(StatError("lib/"), Errno::kSuccess);
  EXPECT_EQ(StatError(""), Errno::kNoent);
  EXPECT_EQ(StatError("tmp/" + std::string(kMaxNameBytes, 'n')), Errno::kNoent);
  EXPECT_EQ(StatError("tmp/" + std::string(kMaxNameBytes + 1, 'n')), Errno::kNametoolong);
  EXPECT_EQ(StatError("tmp/\xFF"), Errno::kIlseq);
}

TEST_F(CellFilesTest, EverythingOutsideTheWritableDirectoriesIsReadOnly) {
  for (const char* path : {"/new", "/lib/new.py", "/lib/json/new.py", "/input/new", "/dev/new"}) {
    EXPECT_EQ(OpenError(path, kMake), Errno::kRofs) << path;
    EXPECT_EQ(files_.MakeDirectory(kRoot, path), Errno::kRofs) << path;
    EXPECT_EQ(Rename("/output/old.txt", path), Errno::kRofs) << path;
  }
  for (const char* path : {"/lib/os.py", "/input/a.csv", "/lib/extra.py"}) {
    EXPECT_EQ(OpenError(path, kUpdate), Errno::kRofs) << path;
    EXPECT_EQ(OpenError(path, {.truncate = true, .read = true}), Errno::kRofs) << path;
    EXPECT_EQ(files_.Unlink(kRoot, path), Errno::kRofs) << path;
    EXPECT_EQ(Rename(path, "/tmp/x"), Errno::kRofs) << path;
    EXPECT_EQ(files_.SetTimes(kRoot, path, 1, 1), Errno::kRofs) << path;
    EXPECT_EQ(OpenError(path, {.create = true, .read = true}), Errno::kSuccess) << path;
  }
  for (const char* path : {"/tmp", "/output", "/input", "/lib", "/lib/json", "/dev"}) {
    EXPECT_EQ(files_.RemoveDirectory(kRoot, path), Errno::kRofs) << path;
    EXPECT_EQ(Rename(path, "/tmp/x"), Errno::kRofs) << path;
  }
}

TEST_F(CellFilesTest, AReadOnlyDescriptorCannotWrite) {
  const std::uint32_t fd = Open("/lib/os.py");
  EXPECT_EQ(files_.Write(fd, BytesOf("x")).error(), Errno::kBadf);
  EXPECT_EQ(files_.WriteAt(fd, 0, BytesOf("x")).error(), Errno::kBadf);
  EXPECT_EQ(files_.SetSize(fd, 0), Errno::kInval);
  EXPECT_EQ(files_.Allocate(fd, 0, 1), Errno::kBadf);
}

// ---- Opening ----

TEST_F(CellFilesTest, OpenFollowsItsFlags) {
  EXPECT_EQ(OpenError("/tmp/f"), Errno::kNoent);
  EXPECT_EQ(OpenError("/tmp/f/", kMake), Errno::kIsdir);
  EXPECT_EQ(OpenError("/tmp/no/f", kMake), Errno::kNoent);
  Make("/tmp/f", "12345");
  EXPECT_EQ(OpenError("/tmp/f", {.create = true, .exclusive = true, .write = true}), Errno::kExist);
  EXPECT_EQ(OpenError("/tmp/f", {.directory = true, .read = true}), Errno::kNotdir);
  EXPECT_EQ(OpenError("/tmp/f/", kRead), Errno::kNotdir);
  EXPECT_EQ(Contents("/tmp/f"), "12345");
  EXPECT_EQ(OpenError("/tmp/f", {.truncate = true, .write = true}), Errno::kSuccess);
  EXPECT_EQ(Contents("/tmp/f"), "");
}

TEST_F(CellFilesTest, ADirectoryIsNotOpenedForWriting) {
  EXPECT_EQ(OpenError("/tmp", kUpdate), Errno::kIsdir);
  EXPECT_EQ(OpenError("/tmp", {.create = true, .read = true}), Errno::kIsdir);
  EXPECT_EQ(OpenError("/tmp", {.create = true, .exclusive = true, .read = true}), Errno::kExist);
  EXPECT_EQ(OpenError("/tmp", {.truncate = true, .read = true}), Errno::kIsdir);
  EXPECT_EQ(OpenError("/tmp", {.create = true, .directory = true}), Errno::kInval);
  const std::uint32_t fd = Open("/tmp", {.directory = true, .read = true});
  std::uint8_t byte;
  EXPECT_EQ(files_.Read(fd, {&byte, 1}).error(), Errno::kIsdir);
  EXPECT_EQ(files_.Seek(fd, 0, Whence::kSet).error(), Errno::kIsdir);
}

TEST_F(CellFilesTest, PathsStartAtTheGivenDirectory) {
  const std::uint32_t json = Open("/lib/json");
  EXPECT_TRUE(files_.Open(json, "decoder.py", kRead));
  EXPECT_TRUE(files_.Open(json, "../os.py", kRead));
  EXPECT_TRUE(files_.Open(json, "../extra.py", kRead));
  EXPECT_TRUE(files_.Open(json, "/lib/os.py", kRead));
  const std::uint32_t file = Open("/lib/os.py");
  EXPECT_EQ(files_.Open(file, "x", kRead).error(), Errno::kNotdir);
  EXPECT_EQ(files_.Open(1, "x", kRead).error(), Errno::kNotdir);
  EXPECT_EQ(files_.Open(99, "x", kRead).error(), Errno::kBadf);
}

TEST_F(CellFilesTest, TheLowestFreeNumberIsGivenOut) {
  EXPECT_EQ(Open("/lib/os.py"), 4U);
  EXPECT_EQ(Open("/lib/os.py"), 5U);
  EXPECT_EQ(files_.Close(4), Errno::kSuccess);
  EXPECT_EQ(files_.Close(4), Errno::kBadf);
  EXPECT_EQ(Open("/lib/os.py"), 4U);
  EXPECT_EQ(files_.Close(1), Errno::kSuccess);
  EXPECT_EQ(Open("/tmp/log", kMake), 1U);
  EXPECT_EQ(files_.Write(1, BytesOf("x")), 1U);
}

TEST_F(CellFilesTest, RenumberReplacesTheTarget) {
  const std::uint32_t a = Open("/lib/os.py");
  const std::uint32_t b = Open("/input/a.csv");
  EXPECT_EQ(files_.Renumber(a, 77), Errno::kBadf);
  EXPECT_EQ(files_.Renumber(a, a), Errno::kSuccess);
  EXPECT_EQ(files_.Renumber(a, b), Errno::kSuccess);
  EXPECT_EQ(files_.Close(a), Errno::kBadf);
  EXPECT_EQ(ReadAll(b), "import sys");
}

TEST_F(CellFilesTest, TheStreamsAreWhereTheyShouldBe) {
  EXPECT_EQ(files_.Describe(0)->stream, Stream::kIn);
  EXPECT_EQ(files_.Describe(1)->stream, Stream::kOut);
  EXPECT_EQ(files_.Describe(2)->stream, Stream::kErr);
  EXPECT_TRUE(files_.Describe(3)->preopened);
  EXPECT_EQ(ReadAll(0), "");
  EXPECT_EQ(files_.Seek(1, 0, Whence::kSet).error(), Errno::kSpipe);
  EXPECT_EQ(files_.WriteAt(1, 0, BytesOf("x")).error(), Errno::kSpipe);
  std::uint8_t byte;
  EXPECT_EQ(files_.Read(1, {&byte, 1}).error(), Errno::kBadf);
}

// ---- Reading and writing ----

TEST_F(CellFilesTest, OffsetsMoveWithReadsAndWrites) {
  const std::uint32_t fd = Open("/tmp/f", kMake);
  EXPECT_EQ(files_.Write(fd, BytesOf("hello")), 5U);
  EXPECT_EQ(files_.Seek(fd, 0, Whence::kCurrent), 5U);
  EXPECT_EQ(files_.Seek(fd, -4, Whence::kEnd), 1U);
  EXPECT_EQ(ReadAll(fd), "ello");
  EXPECT_EQ(ReadAll(fd), "");
  EXPECT_EQ(files_.WriteAt(fd, 1, BytesOf("E")), 1U);
  EXPECT_EQ(files_.Seek(fd, 0, Whence::kCurrent), 5U);
  std::uint8_t byte = 0;
  EXPECT_EQ(files_.ReadAt(fd, 1, {&byte, 1}), 1U);
  EXPECT_EQ(byte, 'E');
}

TEST_F(CellFilesTest, SeekingOutOfRangeIsRefused) {
  const std::uint32_t fd = Open("/tmp/f", kMake);
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(files_.Seek(fd, -1, Whence::kSet).error(), Errno::kInval);
  EXPECT_EQ(files_.Seek(fd, std::numeric_limits<std::int64_t>::min(), Whence::kEnd).error(),
            Errno::kInval);
  EXPECT_EQ(files_.Seek(fd, kMax, Whence::kSet), std::uint64_t{kMax});
  EXPECT_EQ(files_.Seek(fd, 1, Whence::kCurrent).error(), Errno::kOverflow);
  EXPECT_EQ(ReadAll(fd), "");
  EXPECT_EQ(files_.Write(fd, BytesOf("x")).error(), Errno::kFbig);
  EXPECT_EQ(files_.ReadAt(fd, ~std::uint64_t{0}, {}).error(), Errno::kInval);
}

TEST_F(CellFilesTest, AppendingGoesToTheEndWhereverTheOffsetIs) {
  Make("/tmp/f", "one");
  const std::uint32_t fd = Open("/tmp/f", {.write = true, .flags = CellFiles::kAppend});
  EXPECT_EQ(files_.Seek(fd, 0, Whence::kSet), 0U);
  EXPECT_EQ(files_.Write(fd, BytesOf("two")), 3U);
  EXPECT_EQ(files_.SetFlags(fd, 0), Errno::kSuccess);
  EXPECT_EQ(files_.Seek(fd, 0, Whence::kSet), 0U);
  EXPECT_EQ(files_.Write(fd, BytesOf("O")), 1U);
  EXPECT_EQ(Contents("/tmp/f"), "Onetwo");
  EXPECT_EQ(files_.SetFlags(fd, 0x20), Errno::kInval);
}

TEST_F(CellFilesTest, SizesGrowWithZerosAndShrink) {
  Make("/tmp/f", "abc");
  const std::uint32_t fd = Open("/tmp/f", kUpdate);
  EXPECT_EQ(files_.SetSize(fd, 5), Errno::kSuccess);
  EXPECT_EQ(ReadAll(fd), std::string("abc\0\0", 5));
  EXPECT_EQ(files_.SetSize(fd, 1), Errno::kSuccess);
  EXPECT_EQ(Contents("/tmp/f"), "a");
  EXPECT_EQ(files_.Allocate(fd, 0, 4), Errno::kSuccess);
  EXPECT_EQ(files_.Allocate(fd, 0, 2), Errno::kSuccess);
  EXPECT_EQ(files_.Stat(fd)->size, 4U);
  EXPECT_EQ(files_.Allocate(fd, 0, 0), Errno::kInval);
  EXPECT_EQ(files_.Allocate(fd, ~std::uint64_t{0}, 2), Errno::kInval);
}

TEST_F(CellFilesTest, TimesComeFromTheCellsClock) {
  Make("/tmp/f", "x");
  services_.now = 9'000;
  const std::uint32_t fd = Open("/tmp/f", kUpdate);
  EXPECT_EQ(files_.Stat(fd)->modified, 5'000U);
  EXPECT_EQ(files_.Write(fd, BytesOf("y")), 1U);
  EXPECT_EQ(files_.Stat(fd)->modified, 9'000U);
  EXPECT_EQ(files_.SetTimes(fd, 1, std::nullopt), Errno::kSuccess);
  EXPECT_EQ(files_.Stat(fd)->accessed, 1U);
  EXPECT_EQ(files_.Stat(fd)->modified, 9'000U);
  EXPECT_EQ(files_.SetTimes(kRoot, "/tmp/f", std::nullopt, 2), Errno::kSuccess);
  EXPECT_EQ(files_.Stat(fd)->modified, 2U);
  EXPECT_EQ(files_.Stat(kRoot, "/lib/os.py")->modified, kUntouchedTime);
}

TEST_F(CellFilesTest, DevicesBehave) {
  std::array<std::uint8_t, 4> bytes = {1, 1, 1, 1};
  const std::uint32_t null = Open("/dev/null", kUpdate);
  EXPECT_EQ(files_.Write(null, BytesOf("gone")), 4U);
  EXPECT_EQ(files_.Read(null, bytes), 0U);
  const std::uint32_t zero = Open("/dev/zero", {.truncate = true, .read = true, .write = true});
  EXPECT_EQ(files_.Read(zero, bytes), 4U);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 4>{}));
  const std::uint32_t random = Open("/dev/urandom");
  EXPECT_EQ(files_.Read(random, bytes), 4U);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 4>{1, 2, 3, 4}));
  EXPECT_EQ(files_.Stat(random)->type, FileType::kDevice);
  EXPECT_EQ(files_.Seek(random, 9, Whence::kSet), 0U);
  EXPECT_EQ(files_.SetSize(null, 9), Errno::kInval);
  EXPECT_EQ(files_.Unlink(kRoot, "/dev/null"), Errno::kRofs);
}

// ---- Directories ----

TEST_F(CellFilesTest, ListingsMergeTheHostsFilesIntoTheLibrary) {
  EXPECT_EQ(List("/"), (Names{".", "..", "dev", "input", "lib", "output", "tmp"}));
  EXPECT_EQ(List("/lib"), (Names{".", "..", "extra.py", "json", "os.py"}));
  EXPECT_EQ(List("/lib/json"), (Names{".", "..", "__init__.py", "decoder.py"}));
  EXPECT_EQ(List("/input"), (Names{".", "..", "a.csv", "sub"}));
}

TEST_F(CellFilesTest, ACookieStaysGoodWhileTheDirectoryChanges) {
  for (const char* name : {"/tmp/a", "/tmp/b", "/tmp/c", "/tmp/d"}) Make(name, "");
  const std::uint32_t fd = Open("/tmp");
  std::uint64_t cookie = 0;
  for (int i = 0; i < 4; ++i) cookie = (*files_.EntryAt(fd, cookie))->next_cookie;  // . .. a b
  EXPECT_EQ(files_.Unlink(kRoot, "/tmp/a"), Errno::kSuccess);
  EXPECT_EQ(files_.Unlink(kRoot, "/tmp/c"), Errno::kSuccess);
  Make("/tmp/e", "");
  EXPECT_EQ(List(fd, cookie), (Names{"d", "e"}));
  EXPECT_EQ(List(fd, 0), (Names{".", "..", "b", "d", "e"}));
}

TEST_F(CellFilesTest, ACookieThatNobodyGaveOutIsHarmless) {
  const std::uint32_t root = Open("/");
  const std::uint32_t json = Open("/lib/json");
  const std::uint32_t tmp = Open("/tmp");
  for (const std::uint64_t cookie :
       {std::uint64_t{3}, std::uint64_t{1} << 61, (std::uint64_t{1} << 62) - 1,
        std::uint64_t{1} << 62, (std::uint64_t{1} << 62) + 1, (std::uint64_t{1} << 62) + 5,
        ~std::uint64_t{0}}) {
    for (const std::uint32_t fd : {root, json, tmp}) List(fd, cookie);
  }
  EXPECT_EQ(files_.EntryAt(Open("/lib/os.py"), 0).error(), Errno::kNotdir);
  EXPECT_EQ(files_.EntryAt(0, 0).error(), Errno::kNotdir);
}

TEST_F(CellFilesTest, EntriesHaveTheInodesThatStatShows) {
  for (const char* directory : {"/", "/lib", "/input"}) {
    const std::uint32_t fd = Open(directory);
    for (std::uint64_t cookie = 0;;) {
      const auto entry = *files_.EntryAt(fd, cookie);
      if (!entry) break;
      const std::string path = std::string(directory) + "/" + std::string(entry->name);
      EXPECT_EQ(Inode(path), entry->inode) << path;
      EXPECT_EQ(files_.Stat(kRoot, path)->type, entry->type) << path;
      cookie = entry->next_cookie;
    }
  }
  EXPECT_NE(Inode("/lib/os.py"), Inode("/lib/json"));
  EXPECT_EQ(Inode("/lib/json/.."), Inode("/lib"));
  EXPECT_EQ(Inode("/.."), Inode("/"));
}

TEST_F(CellFilesTest, DirectoriesAreMadeAndRemoved) {
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/d/"), Errno::kSuccess);
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/d"), Errno::kExist);
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/lib"), Errno::kExist);
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/."), Errno::kExist);
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/x/y"), Errno::kNoent);
  Make("/tmp/d/f", "");
  EXPECT_EQ(files_.RemoveDirectory(kRoot, "/tmp/d"), Errno::kNotempty);
  EXPECT_EQ(files_.RemoveDirectory(kRoot, "/tmp/d/f"), Errno::kNotdir);
  EXPECT_EQ(files_.RemoveDirectory(kRoot, "/tmp/d/."), Errno::kInval);
  EXPECT_EQ(files_.Unlink(kRoot, "/tmp/d"), Errno::kIsdir);
  EXPECT_EQ(files_.Unlink(kRoot, "/tmp/d/f/"), Errno::kNotdir);
  EXPECT_EQ(files_.Unlink(kRoot, "/tmp/d/f"), Errno::kSuccess);
  EXPECT_EQ(files_.Unlink(kRoot, "/tmp/d/f"), Errno::kNoent);
  EXPECT_EQ(files_.RemoveDirectory(kRoot, "/tmp/d/"), Errno::kSuccess);
  EXPECT_EQ(files_.RemoveDirectory(kRoot, "/tmp/d"), Errno::kNoent);
}

TEST_F(CellFilesTest, ARemovedFileLivesWhileItIsOpen) {
  Make("/tmp/f", "still");
  const std::uint32_t fd = Open("/tmp/f", kUpdate);
  EXPECT_EQ(files_.Unlink(kRoot, "/tmp/f"), Errno::kSuccess);
  EXPECT_EQ(files_.Stat(fd)->links, 0U);
  EXPECT_EQ(ReadAll(fd), "still");
  EXPECT_EQ(files_.Write(fd, BytesOf(" here")), 5U);
  Make("/tmp/f", "new");
  EXPECT_EQ(files_.Seek(fd, 0, Whence::kSet), 0U);
  EXPECT_EQ(ReadAll(fd), "still here");
  EXPECT_EQ(Contents("/tmp/f"), "new");
}

TEST_F(CellFilesTest, NothingIsFoundOrMadeInARemovedDirectory) {
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/d"), Errno::kSuccess);
  const std::uint32_t fd = Open("/tmp/d");
  EXPECT_EQ(files_.RemoveDirectory(kRoot, "/tmp/d"), Errno::kSuccess);
  EXPECT_EQ(files_.Open(fd, "f", kMake).error(), Errno::kNoent);
  EXPECT_EQ(files_.Open(fd, "..", kRead).error(), Errno::kNoent);
  EXPECT_EQ(files_.MakeDirectory(fd, "e"), Errno::kNoent);
  EXPECT_EQ(files_.Rename(kRoot, "/output/old.txt", fd, "x"), Errno::kNoent);
  EXPECT_TRUE(List(fd).empty());
  EXPECT_TRUE(files_.Open(fd, "/lib/os.py", kRead));
}

// ---- Renaming ----

TEST_F(CellFilesTest, AFileIsRenamedOverAnother) {
  Make("/tmp/a", "A");
  Make("/output/b", "B");
  const std::uint64_t inode = Inode("/tmp/a");
  EXPECT_EQ(Rename("/tmp/a", "/output/b"), Errno::kSuccess);
  EXPECT_EQ(StatError("/tmp/a"), Errno::kNoent);
  EXPECT_EQ(Contents("/output/b"), "A");
  EXPECT_EQ(Inode("/output/b"), inode);
}

TEST_F(CellFilesTest, RenamingChecksKinds) {
  Make("/tmp/f", "");
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/d"), Errno::kSuccess);
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/full"), Errno::kSuccess);
  Make("/tmp/full/x", "");
  EXPECT_EQ(Rename("/tmp/f", "/tmp/d"), Errno::kIsdir);
  EXPECT_EQ(Rename("/tmp/d", "/tmp/f"), Errno::kNotdir);
  EXPECT_EQ(Rename("/tmp/d", "/tmp/full"), Errno::kNotempty);
  EXPECT_EQ(Rename("/tmp/f/", "/tmp/g"), Errno::kNotdir);
  EXPECT_EQ(Rename("/tmp/f", "/tmp/g/"), Errno::kNotdir);
  EXPECT_EQ(Rename("/tmp/none", "/tmp/g"), Errno::kNoent);
  EXPECT_EQ(Rename("/tmp/f", "/tmp/none/g"), Errno::kNoent);
  EXPECT_EQ(Rename("/tmp/d/.", "/tmp/g"), Errno::kInval);
  EXPECT_EQ(Rename("/tmp/d", "/tmp/full/.."), Errno::kInval);
  EXPECT_EQ(Rename("/tmp/full", "/tmp/d/"), Errno::kSuccess);
  EXPECT_EQ(StatError("/tmp/d/x"), Errno::kSuccess);
}

TEST_F(CellFilesTest, ADirectoryIsNotMovedIntoItself) {
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/d"), Errno::kSuccess);
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/d/e"), Errno::kSuccess);
  EXPECT_EQ(Rename("/tmp/d", "/tmp/d/x"), Errno::kInval);
  EXPECT_EQ(Rename("/tmp/d", "/tmp/d/e/x"), Errno::kInval);
  EXPECT_EQ(Rename("/tmp/d/e", "/tmp/d"), Errno::kNotempty);
  EXPECT_EQ(Rename("/tmp/d", "/tmp/d"), Errno::kSuccess);
  EXPECT_EQ(Rename("/tmp/d/e", "/tmp/d/../d/e"), Errno::kSuccess);
  EXPECT_EQ(Rename("/tmp/d", "/output/d"), Errno::kSuccess);
  EXPECT_EQ(Inode("/output/d/e/.."), Inode("/output/d"));
  EXPECT_EQ(Inode("/output/d/.."), Inode("/output"));
}

TEST_F(CellFilesTest, ARenamedOverFileLivesWhileItIsOpen) {
  Make("/tmp/a", "A");
  Make("/tmp/b", "B");
  const std::uint32_t fd = Open("/tmp/b");
  EXPECT_EQ(Rename("/tmp/a", "/tmp/b"), Errno::kSuccess);
  EXPECT_EQ(ReadAll(fd), "B");
}

// ---- Quotas ----

TEST_F(CellFilesTest, AFileHasALargestSize) {
  Start({.file_bytes = 10, .total_bytes = 100});
  const std::uint32_t fd = Open("/tmp/f", kMake);
  EXPECT_EQ(files_.Write(fd, BytesOf("123456789012345")), 10U);
  EXPECT_EQ(files_.Write(fd, BytesOf("x")).error(), Errno::kFbig);
  EXPECT_EQ(files_.WriteAt(fd, std::uint64_t{1} << 40, BytesOf("x")).error(), Errno::kFbig);
  EXPECT_EQ(files_.SetSize(fd, 11), Errno::kFbig);
  EXPECT_EQ(files_.Allocate(fd, 5, 6), Errno::kFbig);
  EXPECT_EQ(files_.WriteAt(fd, 9, BytesOf("xyz")), 1U);
}

TEST_F(CellFilesTest, AllFilesTogetherHaveALargestSize) {
  Start({.file_bytes = 80, .total_bytes = 100});
  const std::uint32_t a = Open("/tmp/a", kMake);
  const std::uint32_t b = Open("/output/b", kMake);
  EXPECT_EQ(files_.WriteAt(a, 79, BytesOf("x")), 1U);  // A gap counts.
  EXPECT_EQ(files_.SetSize(b, 21), Errno::kNospc);
  EXPECT_EQ(files_.WriteAt(b, 20, BytesOf("x")).error(), Errno::kNospc);
  EXPECT_EQ(files_.WriteAt(b, 19, BytesOf("xy")), 1U);
  EXPECT_EQ(files_.WriteAt(b, 0, BytesOf("inside")), 6U);
  EXPECT_EQ(files_.Unlink(kRoot, "/tmp/a"), Errno::kSuccess);
  EXPECT_EQ(files_.SetSize(b, 21), Errno::kNospc);  // Still open.
  EXPECT_EQ(files_.Close(a), Errno::kSuccess);
  EXPECT_EQ(files_.SetSize(b, 80), Errno::kSuccess);
  EXPECT_EQ(files_.SetSize(b, 0), Errno::kSuccess);
  Make("/tmp/a", std::string(80, 'a'));
}

TEST_F(CellFilesTest, FilesAndDirectoriesAreCounted) {
  Start({.inodes = 4});  // Two of them are the host's.
  Make("/tmp/a", "");
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/d"), Errno::kSuccess);
  EXPECT_EQ(OpenError("/tmp/b", kMake), Errno::kNospc);
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/tmp/e"), Errno::kNospc);
  EXPECT_EQ(Rename("/tmp/a", "/tmp/b"), Errno::kSuccess);
  EXPECT_EQ(files_.Unlink(kRoot, "/tmp/b"), Errno::kSuccess);
  Make("/tmp/c", "");
}

TEST_F(CellFilesTest, OpenFilesAreCounted) {
  Start({.open_files = 2});
  Open("/lib/os.py");
  Open("/tmp/a", kMake);
  EXPECT_EQ(OpenError("/tmp/b", kMake), Errno::kMfile);
  EXPECT_EQ(StatError("/tmp/b"), Errno::kNoent);
  EXPECT_EQ(OpenError("/tmp/a", {.truncate = true, .write = true}), Errno::kMfile);
}

TEST_F(CellFilesTest, TheHostsFilesCountOnceTheyAreCopied) {
  Start({.file_bytes = 100, .total_bytes = 2});
  const std::uint32_t fd = Open("/output/old.txt", kUpdate);
  EXPECT_EQ(files_.Write(fd, BytesOf("x")).error(), Errno::kNospc);
  EXPECT_EQ(files_.SetSize(fd, 2), Errno::kNospc);
  EXPECT_EQ(Contents("/output/old.txt"), "old");
  EXPECT_EQ(files_.SetSize(fd, 0), Errno::kSuccess);
  EXPECT_EQ(files_.Write(fd, BytesOf("x")), 1U);
}

// ---- Runs, and what comes out ----

TEST_F(CellFilesTest, NothingOfARunIsSeenByTheNext) {
  Make("/tmp/f", "secret");
  EXPECT_EQ(files_.SetTimes(kRoot, "/tmp", 1, 1), Errno::kSuccess);
  Open("/tmp/f");
  EXPECT_EQ(files_.Close(1), Errno::kSuccess);
  files_.Reset();
  ASSERT_TRUE(files_.Start(*LibraryImage::Parse(BytesOf(packed_)), {}, {}));
  EXPECT_EQ(List("/tmp"), (Names{".", ".."}));
  EXPECT_EQ(List("/output"), (Names{".", ".."}));
  EXPECT_EQ(List("/input"), (Names{".", ".."}));
  EXPECT_EQ(files_.Stat(kRoot, "/tmp")->modified, kUntouchedTime);
  EXPECT_EQ(files_.Describe(1)->stream, Stream::kOut);
  EXPECT_EQ(Open("/tmp/f", kMake), 4U);
  const std::uint64_t inode = Inode("/tmp/f");
  EXPECT_EQ(files_.SetTimes(kRoot, "/tmp", 1, 1), Errno::kSuccess);
  ASSERT_TRUE(files_.Start(*LibraryImage::Parse(BytesOf(packed_)), {}, {}));
  EXPECT_EQ(List("/tmp"), (Names{".", ".."}));
  EXPECT_EQ(files_.Stat(kRoot, "/tmp")->modified, kUntouchedTime);
  Make("/tmp/other", "");
  EXPECT_EQ(Inode("/tmp/other"), inode);
}

TEST_F(CellFilesTest, CapturesWhatChangedBelowOutput) {
  Make("/output/new.txt", "new");
  EXPECT_EQ(files_.MakeDirectory(kRoot, "/output/d"), Errno::kSuccess);
  Make("/output/d/deep.txt", "deep");
  Make("/output/old.txt", "changed");
  EXPECT_EQ(files_.Unlink(kRoot, "/output/gone.txt"), Errno::kSuccess);
  Make("/tmp/private", "x");
  const Capture capture = files_.Captured();
  ASSERT_EQ(capture.files.size(), 4U);
  EXPECT_FALSE(capture.incomplete);
  EXPECT_EQ(capture.files[0].path, "/output/d/deep.txt");
  EXPECT_EQ(capture.files[0].change, Change::kCreated);
  EXPECT_EQ(capture.files[1].path, "/output/gone.txt");
  EXPECT_EQ(capture.files[1].change, Change::kDeleted);
  EXPECT_EQ(capture.files[1].contents, nullptr);
  EXPECT_EQ(capture.files[2].change, Change::kCreated);
  EXPECT_EQ(capture.files[3].path, "/output/old.txt");
  EXPECT_EQ(capture.files[3].change, Change::kModified);
  EXPECT_EQ(capture.files[3].size, 7U);
}

TEST_F(CellFilesTest, UntouchedAndRenamedInputsAreCapturedAsWhatTheyAre) {
  EXPECT_TRUE(files_.Captured().files.empty());
  EXPECT_EQ(Rename("/output/old.txt", "/output/gone.txt"), Errno::kSuccess);
  const Capture capture = files_.Captured();
  ASSERT_EQ(capture.files.size(), 2U);
  EXPECT_EQ(capture.files[0].path, "/output/gone.txt");
  EXPECT_EQ(capture.files[0].change, Change::kModified);
  EXPECT_EQ(capture.files[1].path, "/output/old.txt");
  EXPECT_EQ(capture.files[1].change, Change::kDeleted);
}

TEST_F(CellFilesTest, FilesThatAreTooDeepAreNotCaptured) {
  std::uint32_t directory = Open("/output");
  for (int depth = 0; depth < 40; ++depth) {
    const std::string name(kMaxNameBytes, 'd');
    ASSERT_EQ(files_.MakeDirectory(directory, name), Errno::kSuccess);
    const auto next = files_.Open(directory, name, kRead);
    ASSERT_TRUE(next);
    EXPECT_EQ(files_.Close(directory), Errno::kSuccess);
    directory = *next;
  }
  ASSERT_TRUE(files_.Open(directory, "deep", kMake));
  const Capture capture = files_.Captured();
  EXPECT_TRUE(capture.incomplete);
  EXPECT_TRUE(capture.files.empty());
}

TEST_F(CellFilesTest, BadInputPathsAreRefused) {
  const auto text = std::make_shared<const std::string>("x");
  for (const char* path : {"", "a", "/", "//a", "/a/", "/a//b", "/a/../b", "/./a", "/tmp",
                           "/dev/null", "/dev/null/x", "/a\xFF"}) {
    EXPECT_FALSE(files_.Start({}, {{path, text}}, {})) << path;
  }
  EXPECT_FALSE(files_.Start({}, {{"/a", text}, {"/a", text}}, {}));
  EXPECT_FALSE(files_.Start({}, {{"/a", text}, {"/a/b", text}}, {}));
  EXPECT_FALSE(files_.Start({}, {{"/a/b", text}, {"/a", text}}, {}));
  EXPECT_FALSE(files_.Start({}, {{"/a", nullptr}}, {}));
  EXPECT_FALSE(files_.Start({}, {{"/tmp/a", text}, {"/tmp/b", text}}, {.inodes = 1}));
  EXPECT_TRUE(files_.Start({}, {{"/a/b", text}, {"/a/c", text}}, {}));
}

}  // namespace
}  // namespace caisson::worker
