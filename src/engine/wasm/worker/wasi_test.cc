#include "engine/wasm/worker/wasi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "engine/wasm/worker/files/library_fixture.h"

namespace caisson::worker {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

constexpr U32 kSize = 1 << 16;
constexpr U32 kEnd = kSize;
constexpr U32 kRoot = 3;
constexpr U64 kReadRight = 1 << 1;
constexpr U64 kWriteRight = 1 << 6;

// Scratch addresses that do not overlap.
constexpr U32 kPath = 0x1000;
constexpr U32 kList = 0x3000;
constexpr U32 kData = 0x6000;
constexpr U32 kResult = 0xf000;

class RecordingServices : public CellServices {
 public:
  void Write(Stream stream, std::span<const std::uint8_t> bytes) override {
    (stream == Stream::kOut ? out : err)
        .append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  U64 Clock(ClockId id) override { return 1000 + static_cast<U64>(id) + ++clock_readings; }
  void Random(std::span<std::uint8_t> bytes) override { std::ranges::fill(bytes, 0xAB); }
  std::span<const std::string_view> Arguments() const override { return arguments; }

  std::string out;
  std::string err;
  U64 clock_readings = 0;
  std::array<std::string_view, 2> arguments = {"main.py", "-x"};
};

class WasiTest : public testing::Test {
 protected:
  WasiTest()
      : packed_(PackLibrary({{"lib/a.py", "AAAA"}, {"lib/bb.py", "B"}})),
        memory_(kSize, 0x55),
        files_(services_) {
    EXPECT_TRUE(files_.Start(*LibraryImage::Parse(BytesOf(packed_)), {}, {}));
  }

  // The vector is exactly as large as the guest's memory: a sanitizer detects one byte too many.
  WasiShim Shim() {
    progress_ = {};
    return Again();
  }
  // The next slice of the previous call.
  WasiShim Again() {
    return WasiShim({.memory = {memory_.data(), memory_.size()},
                     .files = files_,
                     .services = services_,
                     .progress = progress_});
  }
  template <typename T>
  T Load(U32 address) {
    T value;
    std::memcpy(&value, memory_.data() + address, sizeof value);
    return value;
  }
  template <typename T>
  void Store(U32 address, T value) {
    std::memcpy(memory_.data() + address, &value, sizeof value);
  }
  U32 Put(std::string_view text, U32 address = kPath) {
    std::ranges::copy(text, memory_.begin() + address);
    return static_cast<U32>(text.size());
  }
  std::string Text(U32 address, U32 length) {
    return {reinterpret_cast<const char*>(memory_.data()) + address, length};
  }
  void Buffers(std::initializer_list<std::pair<U32, U32>> buffers, U32 at = kList) {
    for (const auto& [address, length] : buffers) {
      Store(at, address);
      Store(at + 4, length);
      at += 8;
    }
  }
  U32 Open(std::string_view path, U32 open_flags = 0, U64 rights = kReadRight, U32 flags = 0) {
    const U32 length = Put(path);
    EXPECT_EQ(Shim().PathOpen(kRoot, 0, kPath, length, open_flags, rights, 0, flags, kResult),
              Errno::kSuccess)
        << path;
    return Load<U32>(kResult);
  }
  U32 OpenNew(std::string_view path) { return Open(path, 1, kReadRight | kWriteRight); }

  std::string packed_;
  std::vector<std::uint8_t> memory_;
  RecordingServices services_;
  CellFiles files_;
  Progress progress_;
};

// Addresses at and around the end, for something of `size` bytes.
std::vector<U32> BadAddresses(U32 size) {
  return {kEnd - size + 1, kEnd - 1 + (size == 1 ? 1 : 0), kEnd,      kEnd + 1, 0x7fffffff,
          0x80000000,      0xffffffff - size + 1,          0xffffffff};
}

// ---- Bounds ----

TEST_F(WasiTest, ResultsAreStoredUpToTheLastByteAndNotBeyond) {
  EXPECT_EQ(Shim().ClockTimeGet(0, 0, 0), Errno::kSuccess);
  EXPECT_EQ(Shim().ClockTimeGet(0, 0, kEnd - 8), Errno::kSuccess);
  EXPECT_EQ(Load<U64>(kEnd - 8), 1002U);
  for (const U32 bad : BadAddresses(8)) {
    EXPECT_EQ(Shim().ClockTimeGet(0, 0, bad), Errno::kFault) << bad;
    EXPECT_EQ(Shim().ClockResGet(0, bad), Errno::kFault) << bad;
    EXPECT_EQ(Shim().FdSeek(4, 0, 0, bad), Errno::kFault) << bad;
    EXPECT_EQ(Shim().FdTell(4, bad), Errno::kFault) << bad;
    EXPECT_EQ(Shim().FdPrestatGet(kRoot, bad), Errno::kFault) << bad;
  }
  EXPECT_EQ(services_.clock_readings, 2U);  // A refused call reads nothing.
}

TEST_F(WasiTest, StructuresAreStoredWholeOrNotAtAll) {
  EXPECT_EQ(Shim().FdFilestatGet(kRoot, kEnd - 64), Errno::kSuccess);
  for (const U32 bad : BadAddresses(64)) {
    EXPECT_EQ(Shim().FdFilestatGet(kRoot, bad), Errno::kFault) << bad;
  }
  EXPECT_EQ(Shim().FdFdstatGet(kRoot, kEnd - 24), Errno::kSuccess);
  for (const U32 bad : BadAddresses(24)) {
    EXPECT_EQ(Shim().FdFdstatGet(kRoot, bad), Errno::kFault) << bad;
  }
}

TEST_F(WasiTest, PathsLieWhollyInside) {
  Put("lib", kEnd - 3);
  EXPECT_EQ(Shim().PathFilestatGet(kRoot, 0, kEnd - 3, 3, kResult), Errno::kSuccess);
  for (const auto& [address, length] :
       std::initializer_list<std::pair<U32, U32>>{{kEnd - 3, 4},
                                                  {kEnd, 1},
                                                  {0, kEnd + 1},
                                                  {1, kEnd},
                                                  {0xffffffff, 1},
                                                  {0, 0xffffffff},
                                                  {0xffffffff, 0xffffffff},
                                                  {0x80000000, 0x80000000}}) {
    EXPECT_EQ(Shim().PathFilestatGet(kRoot, 0, address, length, kResult), Errno::kFault);
    EXPECT_EQ(Shim().PathOpen(kRoot, 0, address, length, 0, kReadRight, 0, 0, kResult),
              Errno::kFault);
    EXPECT_EQ(Shim().PathCreateDirectory(kRoot, address, length), Errno::kFault);
    EXPECT_EQ(Shim().PathRemoveDirectory(kRoot, address, length), Errno::kFault);
    EXPECT_EQ(Shim().PathUnlinkFile(kRoot, address, length), Errno::kFault);
    EXPECT_EQ(Shim().PathReadlink(kRoot, address, length, 0, 0, kResult), Errno::kFault);
    EXPECT_EQ(Shim().PathRename(kRoot, kPath, 3, kRoot, address, length), Errno::kFault);
    EXPECT_EQ(Shim().PathRename(kRoot, address, length, kRoot, kPath, 3), Errno::kFault);
    EXPECT_EQ(Shim().PathFilestatSetTimes(kRoot, 0, address, length, 0, 0, 0), Errno::kFault);
  }
  EXPECT_EQ(Shim().PathFilestatGet(kRoot, 0, kEnd, 0, kResult), Errno::kNoent);
  EXPECT_EQ(Shim().PathFilestatGet(kRoot, 0, 0, kEnd, kResult), Errno::kNametoolong);
}

TEST_F(WasiTest, NothingIsOpenedIfTheNumberCannotBeStored) {
  const U32 length = Put("/tmp/f");
  for (const U32 bad : BadAddresses(4)) {
    EXPECT_EQ(Shim().PathOpen(kRoot, 0, kPath, length, 1, kReadRight, 0, 0, bad), Errno::kFault);
  }
  EXPECT_EQ(Shim().PathFilestatGet(kRoot, 0, kPath, length, kResult), Errno::kNoent);
  EXPECT_EQ(Shim().FdClose(4), Errno::kBadf);
}

TEST_F(WasiTest, EveryBufferOfAListLiesInside) {
  const U32 fd = Open("/lib/a.py");
  Buffers({{kEnd - 4, 4}}, kEnd - 8);
  EXPECT_EQ(Shim().FdRead(fd, kEnd - 8, 1, kResult), Errno::kSuccess);
  for (const U32 bad : {kEnd - 7, kEnd, 0xfffffff8, 0xffffffff}) {
    EXPECT_EQ(Shim().FdRead(fd, bad, 1, kResult), Errno::kFault) << bad;
    EXPECT_EQ(Shim().FdWrite(1, bad, 1, kResult), Errno::kFault) << bad;
    EXPECT_EQ(Shim().FdPread(fd, bad, 1, 0, kResult), Errno::kFault) << bad;
    EXPECT_EQ(Shim().FdPwrite(fd, bad, 1, 0, kResult), Errno::kFault) << bad;
  }
  for (const auto& [address, length] : std::initializer_list<std::pair<U32, U32>>{
           {kEnd - 3, 4}, {kEnd, 1}, {kEnd + 1, 0}, {0, kEnd + 1}, {0xffffffff, 0xffffffff}}) {
    Buffers({{kData, 2}, {address, length}});
    EXPECT_EQ(Shim().FdRead(fd, kList, 2, kResult), Errno::kFault);
    EXPECT_EQ(Shim().FdWrite(1, kList, 2, kResult), Errno::kFault);
  }
  EXPECT_EQ(services_.out, "");  // Not even the good buffer before it.
  Buffers({{kData, 2}});
  for (const U32 bad : BadAddresses(4)) {
    EXPECT_EQ(Shim().FdWrite(1, kList, 1, bad), Errno::kFault) << bad;
  }
  EXPECT_EQ(services_.out, "");
}

TEST_F(WasiTest, LongListsAreRefusedAtOnce) {
  for (const U32 count : {1025U, 1U << 28, 0x20000000U, 0xffffffffU}) {
    EXPECT_EQ(Shim().FdRead(0, 0, count, kResult), Errno::kInval);
    EXPECT_EQ(Shim().FdWrite(1, 0, count, kResult), Errno::kInval);
  }
  memory_.assign(memory_.size(), 0);
  EXPECT_EQ(Shim().FdWrite(1, 0, 1024, kResult), Errno::kSuccess);
  EXPECT_EQ(Shim().FdWrite(1, kEnd - 1024 * 8 + 8, 1024, 0), Errno::kFault);
}

TEST_F(WasiTest, MoreThanCanBeCountedIsRefused) {
  std::vector<std::uint8_t> big(64 << 20);
  WasiShim shim({.memory = {big.data(), big.size()},
                 .files = files_,
                 .services = services_,
                 .progress = progress_});
  const std::array<U32, 2> whole = {0, static_cast<U32>(big.size())};
  for (U32 i = 0; i < 64; ++i) std::memcpy(big.data() + i * 8, whole.data(), 8);
  EXPECT_EQ(shim.FdWrite(1, 0, 64, 4096), Errno::kInval);
  Errno answer = Errno::kUnfinished;
  while (answer == Errno::kUnfinished) answer = shim.FdWrite(1, 0, 31, 4096);
  EXPECT_EQ(answer, Errno::kSuccess);
  U32 written;
  std::memcpy(&written, big.data() + 4096, 4);
  EXPECT_EQ(written, WasiShim::kMaxTransferBytes);
  EXPECT_EQ(services_.out.size(), WasiShim::kMaxTransferBytes);
}

TEST_F(WasiTest, AReadOverItsOwnListStaysInside) {
  const U32 fd = OpenNew("/tmp/f");
  memory_.assign(memory_.size(), 0xff);  // Everything that is read gives addresses of 0xffffffff.
  Buffers({{kData, 64}});
  EXPECT_EQ(Shim().FdWrite(fd, kList, 1, kResult), Errno::kSuccess);
  Buffers({{kList, 32}, {kData, 16}, {kData, 16}});
  EXPECT_EQ(Shim().FdPread(fd, kList, 3, 0, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), 32U);
}

TEST_F(WasiTest, RandomBytesAreBounded) {
  EXPECT_EQ(Shim().RandomGet(kEnd - 16, 16), Errno::kSuccess);
  EXPECT_EQ(memory_[kEnd - 1], 0xAB);
  EXPECT_EQ(Shim().RandomGet(kEnd - 16, 17), Errno::kFault);
  EXPECT_EQ(Shim().RandomGet(kEnd, 0), Errno::kSuccess);
  EXPECT_EQ(Shim().RandomGet(0xffffffff, 0xffffffff), Errno::kFault);
  std::vector<std::uint8_t> big(2 << 20);
  WasiShim shim({.memory = {big.data(), big.size()},
                 .files = files_,
                 .services = services_,
                 .progress = progress_});
  EXPECT_EQ(shim.RandomGet(0, 2 << 20), Errno::kInval);
}

TEST_F(WasiTest, ListingsStayInsideTheirBuffer) {
  for (const U32 length : {0U, 1U, 23U, 24U, 25U, 26U, 49U, 300U}) {
    memory_.assign(memory_.size(), 0x55);
    EXPECT_EQ(Shim().FdReaddir(kRoot, kData, length, 0, kResult), Errno::kSuccess);
    EXPECT_LE(Load<U32>(kResult), length);
    EXPECT_EQ(memory_[kData + length], 0x55);
    EXPECT_EQ(Shim().FdReaddir(kRoot, kEnd - length, length, 0, kResult), Errno::kSuccess);
    EXPECT_EQ(Shim().FdReaddir(kRoot, kEnd - length, length + 1, 0, kResult), Errno::kFault);
  }
  EXPECT_EQ(Shim().FdReaddir(kRoot, kData, 100, 0, kEnd - 3), Errno::kFault);
  EXPECT_EQ(Shim().FdReaddir(kRoot, 0, 0xffffffff, 0, kResult), Errno::kFault);
}

// ---- Layouts ----

TEST_F(WasiTest, StructuresHaveWasisLayout) {
  const U32 fd = Open("/lib/a.py");
  EXPECT_EQ(Shim().FdFilestatGet(fd, kData), Errno::kSuccess);
  EXPECT_EQ(Load<U64>(kData), 1U);  // device
  EXPECT_EQ(Load<U64>(kData + 8), files_.Stat(fd)->inode);
  EXPECT_EQ(memory_[kData + 16], 4);                 // regular file
  EXPECT_EQ(Load<U64>(kData + 24), 1U);              // links
  EXPECT_EQ(Load<U64>(kData + 32), 4U);              // size
  EXPECT_EQ(Load<U64>(kData + 48), kUntouchedTime);  // modified
  EXPECT_EQ(Shim().FdFdstatGet(kRoot, kData), Errno::kSuccess);
  EXPECT_EQ(memory_[kData], 3);                       // directory
  EXPECT_EQ(Load<std::uint16_t>(kData + 2), 0);       // flags
  EXPECT_NE(Load<U64>(kData + 8) & (1 << 13), 0U);    // may open paths
  EXPECT_NE(Load<U64>(kData + 16) & kReadRight, 0U);  // and pass on the right to read
  EXPECT_EQ(Shim().FdPrestatGet(kRoot, kData), Errno::kSuccess);
  EXPECT_EQ(memory_[kData], 0);
  EXPECT_EQ(Load<U32>(kData + 4), 1U);
  EXPECT_EQ(Shim().FdPrestatDirName(kRoot, kData, 1), Errno::kSuccess);
  EXPECT_EQ(memory_[kData], '/');
  EXPECT_EQ(Shim().FdPrestatDirName(kRoot, kData, 0), Errno::kNametoolong);
  EXPECT_EQ(Shim().FdPrestatGet(fd, kData), Errno::kBadf);
  EXPECT_EQ(Shim().FdPrestatGet(4 + 1, kData), Errno::kBadf);
}

TEST_F(WasiTest, StreamsAreNoTerminals) {
  EXPECT_EQ(Shim().FdFdstatGet(1, kData), Errno::kSuccess);
  EXPECT_EQ(memory_[kData], 2);
  // The rights that libc's isatty checks.
  EXPECT_NE(Load<U64>(kData + 8) & ((1 << 2) | (1 << 5)), 0U);
  EXPECT_NE(Load<U64>(kData + 8) & kWriteRight, 0U);
  EXPECT_EQ(Load<U64>(kData + 8) & kReadRight, 0U);
  EXPECT_EQ(Shim().FdSeek(1, 0, 1, kResult), Errno::kSpipe);
}

TEST_F(WasiTest, ADirectoryIsListedEntryByEntry) {
  const U32 fd = Open("/lib");
  EXPECT_EQ(Shim().FdReaddir(fd, kData, 4096, 0, kResult), Errno::kSuccess);
  std::vector<std::string> names;
  for (U32 at = kData; at < kData + Load<U32>(kResult);) {
    const U32 length = Load<U32>(at + 16);
    names.push_back(Text(at + 24, length));
    EXPECT_EQ(memory_[at + 20], length > 2 ? 4 : 3);
    at += 24 + length;
  }
  EXPECT_EQ(names, (std::vector<std::string>{".", "..", "a.py", "bb.py"}));
  // From the third entry on, by its cookie: d_next of the second.
  const U64 cookie = Load<U64>(kData + 25);
  EXPECT_EQ(Shim().FdReaddir(fd, kData, 28, cookie, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), 28U);
  EXPECT_EQ(Text(kData + 24, 4), "a.py");
}

// ---- Behaviour ----

TEST_F(WasiTest, ArgumentsAndEnvironmentAreLaidOut) {
  EXPECT_EQ(Shim().ArgsSizesGet(kData, kData + 4), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kData), 2U);
  EXPECT_EQ(Load<U32>(kData + 4), 11U);
  EXPECT_EQ(Shim().ArgsGet(kData, kEnd - 11), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kData), kEnd - 11);
  EXPECT_EQ(Text(kEnd - 11, 11), std::string("main.py\0-x\0", 11));
  EXPECT_EQ(Shim().ArgsGet(kData, kEnd - 10), Errno::kFault);
  EXPECT_EQ(Shim().ArgsGet(kEnd - 7, kData), Errno::kFault);
  EXPECT_EQ(Shim().ArgsSizesGet(kData, kEnd - 3), Errno::kFault);
  EXPECT_EQ(Shim().EnvironSizesGet(kData, kData + 4), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kData), 0U);
  EXPECT_EQ(Shim().EnvironGet(kEnd, kEnd), Errno::kSuccess);
}

TEST_F(WasiTest, OutputGoesToItsStream) {
  Put("hello world", kData);
  Buffers({{kData, 5}, {kData + 5, 0}, {kData + 5, 6}});
  EXPECT_EQ(Shim().FdWrite(1, kList, 3, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), 11U);
  EXPECT_EQ(Shim().FdWrite(2, kList, 1, kResult), Errno::kSuccess);
  EXPECT_EQ(services_.out, "hello world");
  EXPECT_EQ(services_.err, "hello");
  EXPECT_EQ(Shim().FdWrite(0, kList, 1, kResult), Errno::kBadf);
  EXPECT_EQ(Shim().FdRead(0, kList, 3, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), 0U);
}

TEST_F(WasiTest, ReadsAreScatteredAndWritesGathered) {
  const U32 fd = OpenNew("/tmp/f");
  Put("abcdefgh", kData);
  Buffers({{kData + 4, 4}, {kData, 4}});
  EXPECT_EQ(Shim().FdWrite(fd, kList, 2, kResult), Errno::kSuccess);
  Buffers({{kData + 100, 3}, {kData + 200, 100}});
  EXPECT_EQ(Shim().FdPread(fd, kList, 2, 1, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), 7U);
  EXPECT_EQ(Text(kData + 100, 3), "fgh");
  EXPECT_EQ(Text(kData + 200, 4), "abcd");
  EXPECT_EQ(Shim().FdTell(fd, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U64>(kResult), 8U);
  EXPECT_EQ(Shim().FdSeek(fd, static_cast<U64>(-2), 2, kResult), Errno::kSuccess);
  EXPECT_EQ(Shim().FdRead(fd, kList, 2, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), 2U);
  EXPECT_EQ(Shim().FdSeek(fd, 0, 3, kResult), Errno::kInval);
  EXPECT_EQ(Shim().FdPwrite(fd, kList, 2, ~U64{0}, kResult), Errno::kInval);
}

TEST_F(WasiTest, AWriteThatMeetsTheQuotaIsShortThenFails) {
  EXPECT_TRUE(files_.Start({}, {}, {.file_bytes = 10}));
  const U32 fd = OpenNew("/tmp/f");
  Buffers({{kData, 6}, {kData, 6}, {kData, 6}});
  EXPECT_EQ(Shim().FdWrite(fd, kList, 3, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), 10U);
  EXPECT_EQ(Shim().FdWrite(fd, kList, 3, kResult), Errno::kFbig);
  EXPECT_EQ(Shim().FdFilestatSetSize(fd, 11), Errno::kFbig);
  EXPECT_EQ(Shim().FdAllocate(fd, 0, U64{1} << 62), Errno::kFbig);
}

TEST_F(WasiTest, AnEmptyListStillChecksTheDescriptor) {
  EXPECT_EQ(Shim().FdRead(77, kList, 0, kResult), Errno::kBadf);
  EXPECT_EQ(Shim().FdWrite(77, kList, 0, kResult), Errno::kBadf);
  EXPECT_EQ(Shim().FdWrite(1, kList, 0, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), 0U);
}

TEST_F(WasiTest, PathsAreMadeMovedAndRemoved) {
  const U32 length = Put("/tmp/d");
  EXPECT_EQ(Shim().PathCreateDirectory(kRoot, kPath, length), Errno::kSuccess);
  const U32 other = Put("/output/e", kPath + 100);
  EXPECT_EQ(Shim().PathRename(kRoot, kPath, length, kRoot, kPath + 100, other), Errno::kSuccess);
  EXPECT_EQ(Shim().PathRemoveDirectory(kRoot, kPath, length), Errno::kNoent);
  EXPECT_EQ(Shim().PathReadlink(kRoot, kPath + 100, other, 0, 0, kResult), Errno::kInval);
  EXPECT_EQ(Shim().PathRemoveDirectory(kRoot, kPath + 100, other), Errno::kSuccess);
  OpenNew("/tmp/f");
  const U32 file = Put("/tmp/f");
  EXPECT_EQ(Shim().PathFilestatSetTimes(kRoot, 0, kPath, file, 7, 0, 1 | 8), Errno::kSuccess);
  EXPECT_EQ(Shim().PathFilestatGet(kRoot, 0, kPath, file, kData), Errno::kSuccess);
  EXPECT_EQ(Load<U64>(kData + 40), 7U);
  EXPECT_GT(Load<U64>(kData + 48), 1000U);
  EXPECT_EQ(Shim().PathFilestatSetTimes(kRoot, 0, kPath, file, 7, 0, 3), Errno::kInval);
  EXPECT_EQ(Shim().PathFilestatSetTimes(kRoot, 0, kPath, file, 7, 0, 16), Errno::kInval);
  EXPECT_EQ(Shim().PathUnlinkFile(kRoot, kPath, file), Errno::kSuccess);
}

TEST_F(WasiTest, UnknownFlagsAreRefused) {
  const U32 length = Put("/lib/a.py");
  EXPECT_EQ(Shim().PathOpen(kRoot, 0, kPath, length, 16, kReadRight, 0, 0, kResult), Errno::kInval);
  EXPECT_EQ(Shim().PathOpen(kRoot, 0, kPath, length, 0, kReadRight, 0, 0x20, kResult),
            Errno::kInval);
  EXPECT_EQ(Shim().PathOpen(kRoot, 0, kPath, length, 0, kReadRight, 0, 0x10000, kResult),
            Errno::kInval);
  EXPECT_EQ(Shim().FdFdstatSetFlags(kRoot, 0x10000), Errno::kInval);
  EXPECT_EQ(Shim().ClockTimeGet(4, 0, kResult), Errno::kInval);
  EXPECT_EQ(Shim().ClockResGet(0xffffffff, kResult), Errno::kInval);
  EXPECT_EQ(Shim().FdAdvise(kRoot, 0, 0, 6), Errno::kInval);
}

TEST_F(WasiTest, MissingFeaturesAreRefused) {
  EXPECT_EQ(Shim().PollOneoff(0, 0, 1, kResult), Errno::kNotsup);
  EXPECT_EQ(Shim().PathSymlink(kPath, 1, kRoot, kPath, 1), Errno::kNotsup);
  EXPECT_EQ(Shim().PathLink(kRoot, 0, kPath, 1, kRoot, kPath, 1), Errno::kNotsup);
  EXPECT_EQ(Shim().SockShutdown(1, 0), Errno::kNotsock);
  EXPECT_EQ(Shim().SockAccept(99, 0, kResult), Errno::kBadf);
  EXPECT_EQ(Shim().SockRecv(3, 0, 0, 0, kResult, kResult), Errno::kNotsock);
  EXPECT_EQ(Shim().SockSend(3, 0, 0, 0, kResult), Errno::kNotsock);
  EXPECT_EQ(Shim().FdFdstatSetRights(3, 0, 0), Errno::kNotsup);
  EXPECT_EQ(Shim().SchedYield(), Errno::kSuccess);
  EXPECT_EQ(Shim().FdSync(1), Errno::kSuccess);
  EXPECT_EQ(Shim().FdDatasync(9), Errno::kBadf);
}

TEST_F(WasiTest, AnEmptyMemoryFaultsEverything) {
  WasiShim shim(
      {.memory = {nullptr, 0}, .files = files_, .services = services_, .progress = progress_});
  EXPECT_EQ(shim.FdWrite(1, 0, 1, 0), Errno::kFault);
  EXPECT_EQ(shim.ClockTimeGet(0, 0, 0), Errno::kFault);
  EXPECT_EQ(shim.PathOpen(kRoot, 0, 0, 1, 0, kReadRight, 0, 0, 0), Errno::kFault);
  EXPECT_EQ(shim.FdReaddir(kRoot, 0, 0, 0, 0), Errno::kFault);
  EXPECT_EQ(shim.RandomGet(0, 0), Errno::kSuccess);
}

// ---- Slices ----

// A memory of eight slices, and a count of the slices of each call.
class WasiSlicesTest : public WasiTest {
 protected:
  static constexpr U32 kBytes = static_cast<U32>(4 * kSliceBytes);

  WasiSlicesTest() { memory_.resize(8 * kSliceBytes, 0x55); }

  template <typename Call>
  Errno Finish(Call call) {
    progress_ = {};
    for (slices_ = 1;; ++slices_) {
      const Errno answer = call();
      if (answer != Errno::kUnfinished) return answer;
      // A half-done call is not visible.
      EXPECT_EQ(Load<U32>(kResult), kUntouched);
    }
  }
  void FillData() {
    for (U32 i = 0; i < kBytes; ++i) memory_[kBig + i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    Store(kResult, kUntouched);
  }

  static constexpr U32 kBig = kSize;  // After the scratch addresses.
  static constexpr U32 kUntouched = 0x55555555;
  int slices_ = 0;
};

TEST_F(WasiSlicesTest, LongTransfersAreMadeInSlices) {
  const U32 fd = OpenNew("/tmp/f");
  FillData();
  const std::string written = Text(kBig, kBytes);
  // Buffers that end within slices, one that is empty, one that spans several.
  Buffers({{kBig, 100}, {kBig + 100, 0}, {kBig + 100, kBytes - 300}, {kBig + kBytes - 200, 200}});
  EXPECT_EQ(Finish([&] { return Again().FdWrite(fd, kList, 4, kResult); }), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), kBytes);
  EXPECT_EQ(slices_, 4);
  Store(kResult, kUntouched);
  std::ranges::fill(std::span(memory_).subspan(kBig, kBytes), std::uint8_t{0});
  EXPECT_EQ(Finish([&] { return Again().FdPread(fd, kList, 4, 0, kResult); }), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), kBytes);
  EXPECT_EQ(slices_, 4);
  EXPECT_EQ(Text(kBig, kBytes), written);
  Store(kResult, kUntouched);
  EXPECT_EQ(Finish([&] { return Again().FdPread(fd, kList, 4, kBytes - 10, kResult); }),
            Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), 10U);
  EXPECT_EQ(slices_, 1);
}

TEST_F(WasiSlicesTest, OutputIsMadeInSlices) {
  FillData();
  Buffers({{kBig, kBytes}});
  EXPECT_EQ(Finish([&] { return Again().FdWrite(1, kList, 1, kResult); }), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), kBytes);
  EXPECT_EQ(slices_, 4);
  EXPECT_EQ(services_.out, Text(kBig, kBytes));
}

TEST_F(WasiSlicesTest, AListThatIsReadOverBetweenSlicesStaysInside) {
  const U32 fd = OpenNew("/tmp/f");
  FillData();
  Buffers({{kBig, kBytes}});
  EXPECT_EQ(Finish([&] { return Again().FdWrite(fd, kList, 1, kResult); }), Errno::kSuccess);
  Store(kResult, kUntouched);
  // Its first slice overwrites the list with a pattern that points outside.
  constexpr U32 kOver = kList - 0x1000;
  Buffers({{kOver, kBytes}});
  progress_ = {};
  EXPECT_EQ(Again().FdPread(fd, kList, 1, 0, kResult), Errno::kUnfinished);
  EXPECT_NE(Load<U32>(kList), kOver);
  EXPECT_EQ(Again().FdPread(fd, kList, 1, 0, kResult), Errno::kSuccess);
  EXPECT_EQ(Load<U32>(kResult), kSliceBytes);
}

TEST_F(WasiSlicesTest, RandomBytesAreMadeInSlices) {
  Store(kResult, kUntouched);
  EXPECT_EQ(Finish([&] { return Again().RandomGet(kBig, 3 * kSliceRandomBytes + 1); }),
            Errno::kSuccess);
  EXPECT_EQ(slices_, 4);
  EXPECT_EQ(memory_[kBig + 3 * kSliceRandomBytes], 0xAB);
  EXPECT_EQ(memory_[kBig + 3 * kSliceRandomBytes + 1], 0x55);
}

TEST_F(WasiSlicesTest, ListingsAreMadeInSlices) {
  for (U32 i = 0; i < 2 * kSliceEntries; ++i) {
    const U32 length = Put("/tmp/" + std::to_string(1000 + i));
    ASSERT_EQ(Shim().PathCreateDirectory(kRoot, kPath, length), Errno::kSuccess);
  }
  const U32 fd = Open("/tmp", 2);
  Store(kResult, kUntouched);
  EXPECT_EQ(Finish([&] { return Again().FdReaddir(fd, kBig, kBytes, 0, kResult); }),
            Errno::kSuccess);
  EXPECT_EQ(slices_, 3);
  // "." and "..", then the others, each once.
  EXPECT_EQ(Load<U32>(kResult), 2 * kSliceEntries * (24 + 4) + 24 + 1 + 24 + 2);
  U32 at = kBig + 24 + 1 + 24 + 2;
  for (U32 i = 0; i < 2 * kSliceEntries; ++i, at += 28) {
    ASSERT_EQ(Text(at + 24, 4), std::to_string(1000 + i));
  }
}

TEST_F(WasiSlicesTest, AGivenFileIsCopiedInSlicesBeforeItChanges) {
  const auto given = std::make_shared<const std::string>(3 * kSliceBytes, 'g');
  ASSERT_TRUE(files_.Start(*LibraryImage::Parse(BytesOf(packed_)), {{"/output/in", given}}, {}));
  const U32 fd = Open("/output/in", 0, kReadRight | kWriteRight);
  Store(kResult, kUntouched);
  Put("G", kBig);
  Buffers({{kBig, 1}});
  EXPECT_EQ(Finish([&] { return Again().FdPwrite(fd, kList, 1, 1, kResult); }), Errno::kSuccess);
  EXPECT_EQ(slices_, 3);
  EXPECT_EQ(Load<U32>(kResult), 1U);
  const Capture capture = files_.Captured();
  ASSERT_EQ(capture.files.size(), 1U);
  std::string contents(given->size(), ' ');
  capture.files[0].contents->Read(
      0, {reinterpret_cast<std::uint8_t*>(contents.data()), contents.size()});
  EXPECT_EQ(contents, "gG" + given->substr(2));
}

TEST_F(WasiSlicesTest, AGivenFileIsCutToAnySize) {
  const auto given = std::make_shared<const std::string>(3 * kSliceBytes, 'g');
  ASSERT_TRUE(files_.Start(*LibraryImage::Parse(BytesOf(packed_)), {{"/output/in", given}}, {}));
  const U32 fd = Open("/output/in", 0, kReadRight | kWriteRight);
  Store(kResult, kUntouched);
  EXPECT_EQ(Finish([&] { return Again().FdFilestatSetSize(fd, 2); }), Errno::kSuccess);
  EXPECT_EQ(files_.Captured().files.at(0).size, 2U);
}

}  // namespace
}  // namespace caisson::worker
