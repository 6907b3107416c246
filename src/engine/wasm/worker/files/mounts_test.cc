#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "engine/wasm/worker/files/cell_files.h"
#include "engine/wasm/worker/files/library_fixture.h"

namespace caisson::worker {
namespace {

constexpr std::uint32_t kRoot = CellFiles::kRootDescriptor;
constexpr OpenOptions kRead = {.read = true};
constexpr OpenOptions kMake = {.create = true, .truncate = true, .read = true, .write = true};
constexpr OpenOptions kAppend = {.write = true, .flags = CellFiles::kAppend};
constexpr OpenOptions kUpdate = {.read = true, .write = true};

using Change = CapturedFile::Change;
using Kind = HostRequest::Kind;

// The host side in memory: answers requests as HostFiles does.
class FakeHost {
 public:
  void Put(const std::string& path, std::string contents) {
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos) PutDirectory(path.substr(0, slash));
    entries[path] = {.directory = false, .inode = ++inodes, .contents = std::move(contents)};
  }
  void PutDirectory(const std::string& path) {
    if (entries.contains(path)) return;
    entries[path] = {.directory = true, .inode = ++inodes, .contents = {}};
  }

  void Answer(CellFiles& files) {
    const HostRequest& wanted = files.wanted();
    ++requests;
    const auto at = entries.find(wanted.path);
    if (wanted.kind == Kind::kList) {
      if (!wanted.path.empty() && at == entries.end()) return Refuse(files, wire::FileError::kGone);
      EXPECT_TRUE(files.Deliver(wire::FileError::kNone, Listing(wanted.path)));
      return;
    }
    if (at == entries.end()) return Refuse(files, wire::FileError::kGone);
    const bool same = wanted.exact ? VersionOf(at->second) == wanted.version
                                   : at->second.inode == wanted.version.inode;
    if (!same) return Refuse(files, wire::FileError::kChanged);
    read_bytes += wanted.length;
    EXPECT_LE(wanted.length, wire::kMaxReadBytes);
    const std::string& contents = at->second.contents;
    const std::size_t from = std::min<std::size_t>(wanted.offset, contents.size());
    EXPECT_TRUE(files.Deliver(wire::FileError::kNone, contents.substr(from, wanted.length)));
  }

  struct Entry {
    bool directory;
    std::uint64_t inode;
    std::string contents;
  };
  static wire::FileVersion VersionOf(const Entry& entry) {
    return {.inode = entry.inode, .size = entry.contents.size(), .modified_ns = 7};
  }
  std::map<std::string, Entry> entries;
  std::uint64_t inodes = 100;
  int requests = 0;
  std::uint64_t read_bytes = 0;

 private:
  static void Refuse(CellFiles& files, wire::FileError error) {
    EXPECT_TRUE(files.Deliver(error, {}));
  }

  std::string Listing(const std::string& directory) const {
    std::string out;
    for (const auto& [path, entry] : entries) {
      const std::size_t slash = path.rfind('/');
      const std::string above = slash == std::string::npos ? "" : path.substr(0, slash);
      if (above != directory) continue;
      const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
      const wire::ListedHeader header{
          .version = VersionOf(entry),
          .name_length = static_cast<std::uint16_t>(name.size()),
          .directory = entry.directory ? std::uint16_t{1} : std::uint16_t{0},
          .reserved = 0};
      out.append(reinterpret_cast<const char*>(&header), sizeof header).append(name);
    }
    return out;
  }
};

Errno ErrnoOf(Errno result) {
  return result;
}
template <typename T>
Errno ErrnoOf(const Io<T>& result) {
  return result ? Errno::kSuccess : result.error();
}

class MountsTest : public testing::Test {
 protected:
  MountsTest() : files_(services_) {
    host_.Put("a.txt", "alpha");
    host_.Put("b.txt", "beta");
    host_.Put("d/c.txt", "gamma");
    host_.Put("d/e/f.txt", "delta");
  }

  void Start(bool writable, std::uint64_t write_bytes_limit = 0) {
    ASSERT_TRUE(files_.Start({}, {}, kLimits, {Mount{"/m", writable, write_bytes_limit}}));
  }

  // Makes a call as the worker does: repeats it as long as the host has to be asked.
  template <typename Call>
  auto Do(Call call) {
    auto result = call();
    for (int i = 0; ErrnoOf(result) == Errno::kPending && i < 1000; ++i) {
      host_.Answer(files_);
      result = call();
    }
    return result;
  }

  Io<std::uint32_t> Open(std::string_view path, const OpenOptions& options) {
    return Do([&] { return files_.Open(kRoot, path, options); });
  }
  std::string ReadAll(std::uint32_t fd) {
    std::string out;
    std::vector<std::uint8_t> buffer(10'000);
    while (true) {
      const auto got = Do([&] { return files_.Read(fd, buffer); });
      EXPECT_TRUE(got);
      if (!got || *got == 0) return out;
      out.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
    }
  }
  std::string Contents(std::string_view path) {
    const auto fd = Open(path, kRead);
    if (!fd) return "errno " + std::to_string(static_cast<int>(fd.error()));
    std::string text = ReadAll(*fd);
    EXPECT_EQ(files_.Close(*fd), Errno::kSuccess);
    return text;
  }
  void Write(std::string_view path, std::string_view text, const OpenOptions& options = kMake) {
    const auto fd = Open(path, options);
    ASSERT_TRUE(fd) << path;
    EXPECT_EQ(Do([&] { return files_.Write(*fd, BytesOf(text)); }), text.size());
    EXPECT_EQ(files_.Close(*fd), Errno::kSuccess);
  }
  Errno Unlink(std::string_view path) {
    return Do([&] { return files_.Unlink(kRoot, path); });
  }
  Errno Rename(std::string_view from, std::string_view to) {
    return Do([&] { return files_.Rename(kRoot, from, kRoot, to); });
  }
  Errno MakeDirectory(std::string_view path) {
    return Do([&] { return files_.MakeDirectory(kRoot, path); });
  }
  Errno RemoveDirectory(std::string_view path) {
    return Do([&] { return files_.RemoveDirectory(kRoot, path); });
  }
  std::string Names(std::string_view path) {
    const auto fd = Open(path, kRead);
    if (!fd) return "errno " + std::to_string(static_cast<int>(fd.error()));
    std::string names;
    std::uint64_t cookie = 2;
    while (true) {
      const auto entry = Do([&] { return files_.EntryAt(*fd, cookie); });
      if (!entry || !*entry) break;
      names += std::string((*entry)->name) + " ";
      cookie = (*entry)->next_cookie;
    }
    EXPECT_EQ(files_.Close(*fd), Errno::kSuccess);
    return names;
  }
  // "+a" created, "*a" modified, "-a" deleted; directories end in a slash.
  std::string Changes() {
    std::string out;
    for (const CapturedFile& file : files_.Captured().files) {
      out += "+*-"[static_cast<int>(file.change)] + file.path + (file.directory ? "/ " : " ");
    }
    return out;
  }

  static constexpr FileLimits kLimits = {.total_bytes = 1 << 20, .mount_file_bytes = 600'000};
  FixedServices services_;
  FakeHost host_;
  CellFiles files_;
};

TEST_F(MountsTest, DirectoriesAreListedWhenTheyAreEntered) {
  Start(false);
  EXPECT_EQ(host_.requests, 0);
  EXPECT_EQ(Names("/m"), "a.txt b.txt d ");
  EXPECT_EQ(host_.requests, 1);
  EXPECT_EQ(Names("/m/d"), "c.txt e ");
  EXPECT_EQ(Contents("/m/d/e/f.txt"), "delta");
  EXPECT_EQ(host_.requests, 4);
  EXPECT_EQ(Names("/m/d/../d/e/."), "f.txt ");
  EXPECT_EQ(host_.requests, 4);  // Listings are kept.
  EXPECT_EQ(Contents("/m/d/e/f.txt"), "delta");
  EXPECT_EQ(host_.requests, 5);  // Bytes are not kept once the file is closed.
}

TEST_F(MountsTest, SizesAndTimesAreTheHosts) {
  Start(false);
  const auto stat = Do([&] { return files_.Stat(kRoot, "/m/a.txt"); });
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->size, 5U);
  EXPECT_EQ(stat->modified, 7U);
  EXPECT_EQ(stat->type, FileType::kRegular);
  EXPECT_EQ(Contents("/m/nothing"), "errno 44");
  EXPECT_EQ(Contents("/m/a.txt/below"), "errno 54");
}

TEST_F(MountsTest, ReadingGoesInLargePiecesAndFetchesHardlyAnythingTwice) {
  std::string big;
  for (int i = 0; i < 300'000; ++i) big += std::to_string(i % 10'007) + "\n";
  host_.Put("big", big);
  Start(false);
  EXPECT_EQ(Contents("/m/big"), big);
  EXPECT_LT(host_.read_bytes, big.size() + big.size() / 16);
  EXPECT_LT(host_.requests, 12);
}

TEST_F(MountsTest, AReadDependsOnlyOnItsOffset) {
  std::string big(400'000, ' ');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>('a' + i % 26);
  host_.Put("big", big);
  Start(false);
  const auto fd = Open("/m/big", kRead);
  std::vector<std::uint8_t> out(300'000);
  const auto read = [&](std::uint64_t offset, std::size_t length) {
    const auto part = std::span(out).first(length);
    const auto got = Do([&] { return files_.ReadAt(*fd, offset, part); });
    return std::string(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got.value_or(0)));
  };
  for (const std::uint64_t offset : {0u, 60'000u, 65'535u, 65'536u, 300'000u, 1u, 200'000u}) {
    EXPECT_EQ(read(offset, 10'000), big.substr(offset, 10'000)) << offset;
  }
  EXPECT_EQ(read(5, 300'000).size(), wire::kMaxReadBytes);
  EXPECT_EQ(read(399'990, 300'000), big.substr(399'990));
}

TEST_F(MountsTest, FilesReadSideBySideKeepTheirBytes) {
  for (int i = 0; i < 8; ++i) host_.Put("f" + std::to_string(i), std::string(50'000, 'x'));
  Start(false);
  std::vector<std::uint32_t> open;
  for (int i = 0; i < 8; ++i) open.push_back(*Open("/m/f" + std::to_string(i), kRead));
  const int before = host_.requests;
  std::vector<std::uint8_t> line(10);
  for (int round = 0; round < 5000; ++round) {
    for (const std::uint32_t fd : open) ASSERT_EQ(Do([&] { return files_.Read(fd, line); }), 10U);
  }
  EXPECT_EQ(host_.requests - before, 8);
}

TEST_F(MountsTest, AFileThatShrinksEndsEarlierAndOneThatIsReplacedIsStale) {
  host_.Put("s", std::string(500'000, 's'));
  Start(false);
  const auto fd = Open("/m/s", kRead);
  ASSERT_TRUE(fd);
  host_.entries["s"].contents.resize(100'000);
  EXPECT_EQ(ReadAll(*fd).size(), 100'000U);
  const auto other = Open("/m/a.txt", kRead);
  host_.Put("a.txt", "another");
  std::vector<std::uint8_t> out(10);
  EXPECT_EQ(ErrnoOf(Do([&] { return files_.Read(*other, out); })), Errno::kStale);
  // Only once: nothing of it is left.
  EXPECT_EQ(Contents("/m/b.txt"), "beta");
}

TEST_F(MountsTest, AReadOnlyMountRefusesEveryChange) {
  Start(false);
  EXPECT_EQ(ErrnoOf(Open("/m/a.txt", kUpdate)), Errno::kRofs);
  EXPECT_EQ(ErrnoOf(Open("/m/a.txt", {.truncate = true, .read = true})), Errno::kRofs);
  EXPECT_EQ(ErrnoOf(Open("/m/new", kMake)), Errno::kRofs);
  EXPECT_EQ(Unlink("/m/a.txt"), Errno::kRofs);
  EXPECT_EQ(MakeDirectory("/m/x"), Errno::kRofs);
  EXPECT_EQ(RemoveDirectory("/m/d/e"), Errno::kRofs);
  EXPECT_EQ(Rename("/m/a.txt", "/m/z.txt"), Errno::kRofs);
  EXPECT_EQ(Rename("/m/a.txt", "/tmp/a"), Errno::kRofs);
  EXPECT_EQ(Do([&] { return files_.SetTimes(kRoot, "/m/a.txt", 1, 1); }), Errno::kRofs);
  const auto fd = Open("/m/a.txt", kRead);
  EXPECT_NE(files_.SetSize(*fd, 0), Errno::kSuccess);
  EXPECT_EQ(RemoveDirectory("/m"), Errno::kRofs);
  EXPECT_EQ(Changes(), "");
}

TEST_F(MountsTest, WritesGoToTheCellsOwnLayer) {
  Start(true);
  Write("/m/new.txt", "new");
  Write("/m/a.txt", "ALPHA");
  Write("/m/b.txt", "!", kAppend);
  Write("/m/d/c.txt", "G", kUpdate);
  EXPECT_EQ(Unlink("/m/d/e/f.txt"), Errno::kSuccess);
  EXPECT_EQ(Contents("/m/a.txt"), "ALPHA");
  EXPECT_EQ(Contents("/m/b.txt"), "beta!");
  EXPECT_EQ(Contents("/m/d/c.txt"), "Gamma");
  EXPECT_EQ(Contents("/m/d/e/f.txt"), "errno 44");
  EXPECT_EQ(Names("/m/d/e"), "");
  EXPECT_EQ(Changes(), "*/m/a.txt */m/b.txt */m/d/c.txt -/m/d/e/f.txt +/m/new.txt ");
  EXPECT_EQ(host_.entries["a.txt"].contents, "alpha");
  const Capture capture = files_.Captured();
  EXPECT_EQ(capture.files[0].seen, FakeHost::VersionOf(host_.entries["a.txt"]));
  EXPECT_EQ(capture.files[4].seen, wire::FileVersion());
}

TEST_F(MountsTest, TruncatingCopiesNothingAndOpeningChangesNothing) {
  host_.Put("big", std::string(500'000, 'b'));
  Start(true);
  const auto fd = Open("/m/big", kUpdate);
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(files_.Close(*fd), Errno::kSuccess);
  Write("/m/big", "small");
  EXPECT_EQ(host_.read_bytes, 0U);
  EXPECT_EQ(Contents("/m/big"), "small");
  const auto cut = Open("/m/a.txt", kUpdate);
  EXPECT_EQ(Do([&] { return files_.SetSize(*cut, 2); }), Errno::kSuccess);
  EXPECT_EQ(ReadAll(*cut), "al");
  EXPECT_EQ(Changes(), "*/m/a.txt */m/big ");
}

TEST_F(MountsTest, RemovedAndMadeAgainIsModified) {
  Start(true);
  EXPECT_EQ(Unlink("/m/a.txt"), Errno::kSuccess);
  EXPECT_EQ(Names("/m"), "b.txt d ");
  Write("/m/a.txt", "again");
  EXPECT_EQ(Changes(), "*/m/a.txt ");
  // A directory replaces it: the file is gone, the directory is new.
  EXPECT_EQ(Unlink("/m/a.txt"), Errno::kSuccess);
  EXPECT_EQ(MakeDirectory("/m/a.txt"), Errno::kSuccess);
  EXPECT_EQ(Changes(), "-/m/a.txt +/m/a.txt/ ");
}

TEST_F(MountsTest, RemovedDirectoriesAreReportedAndThoseMadeAgainAreNot) {
  Start(true);
  EXPECT_EQ(RemoveDirectory("/m/d"), Errno::kNotempty);
  EXPECT_EQ(Unlink("/m/d/e/f.txt"), Errno::kSuccess);
  EXPECT_EQ(RemoveDirectory("/m/d/e"), Errno::kSuccess);
  EXPECT_EQ(Unlink("/m/d/c.txt"), Errno::kSuccess);
  EXPECT_EQ(RemoveDirectory("/m/d"), Errno::kSuccess);
  EXPECT_EQ(Changes(), "-/m/d/ -/m/d/c.txt -/m/d/e/ -/m/d/e/f.txt ");
  EXPECT_EQ(MakeDirectory("/m/d"), Errno::kSuccess);
  Write("/m/d/c.txt", "gamma");
  EXPECT_EQ(Changes(), "*/m/d/c.txt -/m/d/e/ -/m/d/e/f.txt ");
}

TEST_F(MountsTest, RenamingAFileCopiesItAndADirectoryOfTheHostStays) {
  Start(true);
  EXPECT_EQ(Rename("/m/a.txt", "/m/b.txt"), Errno::kSuccess);
  EXPECT_EQ(Contents("/m/b.txt"), "alpha");
  EXPECT_EQ(Changes(), "-/m/a.txt */m/b.txt ");
  EXPECT_EQ(Rename("/m/d", "/m/moved"), Errno::kXdev);
  EXPECT_EQ(Rename("/m/b.txt", "/tmp/b"), Errno::kXdev);
  EXPECT_EQ(MakeDirectory("/m/mine"), Errno::kSuccess);
  EXPECT_EQ(Rename("/m/d/c.txt", "/m/mine/c"), Errno::kSuccess);
  EXPECT_EQ(Rename("/m/mine", "/m/yours"), Errno::kSuccess);
  EXPECT_EQ(Contents("/m/yours/c"), "gamma");
  EXPECT_EQ(Changes(), "-/m/a.txt */m/b.txt -/m/d/c.txt +/m/yours/ +/m/yours/c ");
  EXPECT_EQ(Rename("/m/yours", "/m/d/e"), Errno::kNotempty);
}

TEST_F(MountsTest, AnOpenFileOutlivesItsName) {
  Start(true);
  const auto fd = Open("/m/a.txt", kUpdate);
  EXPECT_EQ(Unlink("/m/a.txt"), Errno::kSuccess);
  EXPECT_EQ(ReadAll(*fd), "alpha");
  EXPECT_EQ(Do([&] { return files_.Write(*fd, BytesOf("!")); }), 1U);
  EXPECT_EQ(Changes(), "-/m/a.txt ");
}

TEST_F(MountsTest, ListingWhileChangingNeitherRepeatsNorSkips) {
  for (int i = 0; i < 50; ++i) host_.Put("many/" + std::to_string(100 + i), "x");
  Start(true);
  const auto fd = Open("/m/many", kRead);
  std::uint64_t cookie = 2;
  int seen = 0;
  while (true) {
    const auto entry = Do([&] { return files_.EntryAt(*fd, cookie); });
    ASSERT_TRUE(entry);
    if (!*entry) break;
    cookie = (*entry)->next_cookie;
    const std::string name((*entry)->name);
    ASSERT_EQ(Unlink("/m/many/" + name), Errno::kSuccess) << name;
    ++seen;
  }
  EXPECT_EQ(seen, 50);
  EXPECT_EQ(RemoveDirectory("/m/many"), Errno::kSuccess);
}

TEST_F(MountsTest, QuotasHoldWhileWriting) {
  Start(true, 1000);
  const std::string text(600, 'x');
  Write("/m/one", text);
  const auto fd = Open("/m/two", kMake);
  EXPECT_EQ(files_.Write(*fd, BytesOf(text)), 400U);
  EXPECT_EQ(ErrnoOf(files_.Write(*fd, BytesOf(text))), Errno::kNospc);
  EXPECT_EQ(files_.SetSize(*fd, 401), Errno::kNospc);
  // Copies count too.
  EXPECT_EQ(ErrnoOf(Do([&] { return files_.Rename(kRoot, "/m/a.txt", kRoot, "/m/z"); })),
            Errno::kNospc);
  EXPECT_EQ(Unlink("/m/one"), Errno::kSuccess);
  EXPECT_EQ(Rename("/m/a.txt", "/m/z"), Errno::kSuccess);
  // /tmp has a separate quota.
  Write("/tmp/t", std::string(5000, 't'));
}

TEST_F(MountsTest, AFileThatCouldNotBeCapturedCannotBeWritten) {
  host_.Put("huge", std::string(700'000, 'h'));
  Start(true);
  const auto fd = Open("/m/new", kMake);
  EXPECT_EQ(files_.SetSize(*fd, 600'001), Errno::kFbig);
  EXPECT_EQ(ErrnoOf(files_.WriteAt(*fd, 600'000, BytesOf("x"))), Errno::kFbig);
  const auto huge = Open("/m/huge", kUpdate);
  EXPECT_EQ(ErrnoOf(Do([&] { return files_.Write(*huge, BytesOf("x")); })), Errno::kFbig);
  EXPECT_EQ(host_.read_bytes, 0U);
  EXPECT_EQ(Changes(), "+/m/new ");
}

TEST_F(MountsTest, NamesOfTheHostsOwnAndEndlessDepthAreRefused) {
  Start(true);
  EXPECT_EQ(ErrnoOf(Open("/m/.caisson-stage", kMake)), Errno::kAcces);
  EXPECT_EQ(MakeDirectory("/m/.caisson-x"), Errno::kAcces);
  EXPECT_EQ(Rename("/m/a.txt", "/m/.caisson-a"), Errno::kAcces);
  EXPECT_EQ(MakeDirectory("/m/d/.caisson-x"), Errno::kSuccess);
  std::string path = "/m";
  Errno made = Errno::kSuccess;
  for (int i = 0; i < 100 && made == Errno::kSuccess; ++i) made = MakeDirectory(path += "/x");
  EXPECT_EQ(made, Errno::kNametoolong);
  EXPECT_EQ(path.size(), 2 + 2 * 65U);
}

TEST_F(MountsTest, ACopyThatTheHostInterruptsLeavesNothing) {
  host_.Put("big", std::string(550'000, 'b'));
  Start(true);
  const auto fd = Open("/m/big", kUpdate);
  ASSERT_EQ(ErrnoOf(files_.Write(*fd, BytesOf("x"))), Errno::kPending);
  host_.Answer(files_);
  ASSERT_EQ(ErrnoOf(files_.Write(*fd, BytesOf("x"))), Errno::kPending);
  host_.entries["big"].contents += "more";
  EXPECT_EQ(ErrnoOf(Do([&] { return files_.Write(*fd, BytesOf("x")); })), Errno::kStale);
  EXPECT_EQ(Changes(), "");
  // The copied bytes no longer count.
  Write("/m/one", std::string(600'000, '1'));
  Write("/m/two", std::string(400'000, '2'));
}

TEST_F(MountsTest, AnswersThatMakeNoSenseAreNoted) {
  Start(true);
  ASSERT_EQ(ErrnoOf(files_.Open(kRoot, "/m/a.txt", kRead)), Errno::kPending);
  EXPECT_FALSE(files_.Deliver(wire::FileError::kNone, "short"));
  wire::ListedHeader header{};
  header.name_length = 3;
  const std::string entry(reinterpret_cast<const char*>(&header), sizeof header);
  EXPECT_FALSE(files_.Deliver(wire::FileError::kNone, entry + "ab"));
  EXPECT_FALSE(files_.Deliver(wire::FileError::kNone, entry + "a/b"));
  EXPECT_FALSE(files_.Deliver(wire::FileError::kNone, entry + "abc" + entry + "abc"));
}

TEST_F(MountsTest, MoreEntriesThanACellMayHaveAreAnError) {
  for (std::uint32_t i = 0; i <= wire::kMaxListed; ++i) host_.Put("f" + std::to_string(i), "");
  Start(false);
  EXPECT_EQ(Contents("/m/f1"), "errno 61");
}

TEST_F(MountsTest, MountsOnlyGoWhereNothingIs) {
  const std::string packed = PackLibrary({{"lib/os.py", "import sys"}});
  const auto start = [&](std::vector<Mount> mounts, std::vector<InputFile> inputs = {}) {
    return files_
        .Start(*LibraryImage::Parse(BytesOf(packed)), std::move(inputs), kLimits, std::move(mounts))
        .has_value();
  };
  const auto text = std::make_shared<const std::string>("x");
  EXPECT_TRUE(start({{"/input", false}, {"/output", true}, {"/data/a", true}, {"/data/b", false}}));
  EXPECT_TRUE(start({{"/input/a", false}}, {{"/input/b", text}}));
  EXPECT_FALSE(start({{"/input", false}}, {{"/input/b", text}}));
  EXPECT_FALSE(start({{"/a", false}, {"/a", false}}));
  EXPECT_FALSE(start({{"/a", false}, {"/a/b", false}}));
  EXPECT_FALSE(start({{"/a/b", false}, {"/a", false}}));
  for (const char* path : {"", "/", "a", "/a/", "/a/../b", "/tmp", "/tmp/x", "/dev", "/output/x",
                           "/lib", "/lib/x", "/dev/null"}) {
    EXPECT_FALSE(start({{path, false}})) << path;
  }
}

TEST_F(MountsTest, AMountAtOutputIsCapturedAsOne) {
  ASSERT_TRUE(files_.Start({}, {}, kLimits, {Mount{"/output", true, 0}}));
  Write("/output/a.txt", "changed");
  const Capture capture = files_.Captured();
  ASSERT_EQ(capture.files.size(), 1U);
  EXPECT_EQ(capture.files[0].mount, 0U);
  EXPECT_EQ(capture.files[0].change, Change::kModified);
}

TEST_F(MountsTest, ASavedCellGoesOnWithItsLayerAndItsOpenFiles) {
  Start(true);
  Write("/m/new.txt", "new");
  Write("/m/b.txt", "!", kAppend);
  EXPECT_EQ(Unlink("/m/d/c.txt"), Errno::kSuccess);
  const auto fd = *Open("/m/a.txt", kRead);
  const auto removed = *Open("/m/d/e/f.txt", kRead);
  EXPECT_EQ(Unlink("/m/d/e/f.txt"), Errno::kSuccess);
  EXPECT_EQ(files_.Seek(fd, 2, Whence::kSet), 2U);
  std::string blob;
  files_.Save(blob);
  const std::string changes = Changes();
  Start(true);
  ASSERT_TRUE(files_.Restore(BytesOf(blob)));
  std::string again;
  files_.Save(again);
  EXPECT_EQ(again, blob);
  EXPECT_EQ(Changes(), changes);
  const int before = host_.requests;
  EXPECT_EQ(Names("/m"), "a.txt b.txt d new.txt ");
  EXPECT_EQ(host_.requests, before);  // Listings were saved too.
  EXPECT_EQ(ReadAll(fd), "pha");
  EXPECT_EQ(ReadAll(removed), "delta");
  EXPECT_EQ(Contents("/m/b.txt"), "beta!");
  // Only into a cell with the same mounts.
  ASSERT_TRUE(files_.Start({}, {}, kLimits, {}));
  EXPECT_FALSE(files_.Restore(BytesOf(blob)));
  Start(false);
  EXPECT_FALSE(files_.Restore(BytesOf(blob)));
}

TEST_F(MountsTest, AnotherRunStartsAfresh) {
  Start(true);
  Write("/m/a.txt", "changed");
  files_.Reset();
  Start(true);
  EXPECT_EQ(Contents("/m/a.txt"), "alpha");
  ASSERT_TRUE(files_.Start({}, {}, kLimits, {}));
  EXPECT_EQ(Names("/m"), "errno 44");
}

}  // namespace
}  // namespace caisson::worker
