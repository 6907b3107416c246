// Any sequence of WASI calls with any arguments stays inside the guest's memory and the cell's
// quotas.
//
// The input starts with the guest's memory; the rest is a list of calls. Arguments are mostly
// small, so that calls use each other's files, and sometimes arbitrary numbers.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "engine/wasm/worker/files/library_fixture.h"
#include "engine/wasm/worker/wasi.h"

namespace caisson::worker {
namespace {

class FuzzServices : public CellServices {
 public:
  void Write(Stream, std::span<const std::uint8_t> bytes) override {
    for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 64)))
      sum += byte;
  }
  std::uint64_t Clock(ClockId) override { return ++time; }
  void Random(std::span<std::uint8_t> out) override { std::ranges::fill(out, std::uint8_t{0xAB}); }

  std::uint64_t time = 0;
  std::uint64_t sum = 0;
};

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : in_({data, size}) {}

  bool AtEnd() const { return in_.AtEnd() || !in_.ok(); }
  std::uint8_t Byte() { return in_.Get<std::uint8_t>(); }

  // A descriptor, address, length or flag.
  std::uint32_t Word() {
    switch (Byte() % 8) {
      case 0:
        return in_.Get<std::uint32_t>();
      case 1:
        return 0xffffffff - Byte();
      case 2:
        return kMemoryBytes - Byte();
      case 3:
        return Byte();
      case 4:
        return std::uint32_t{Byte()} * 16;
      case 5:
        return Byte() % 16;
      default:
        return Byte() % 8;
    }
  }
  std::uint64_t Long() { return Byte() % 2 == 0 ? Word() : in_.Get<std::uint64_t>(); }

  static constexpr std::uint32_t kMemoryBytes = 64 << 10;

 private:
  ByteReader in_;
};

Errno CallDescriptor(WasiShim& shim, Input& in, std::uint8_t which) {
  const std::uint32_t a = in.Word();
  const std::uint32_t b = in.Word();
  switch (which % 26) {
    case 0:
      return shim.FdAdvise(a, in.Long(), in.Long(), b);
    case 1:
      return shim.FdAllocate(a, in.Long(), in.Long());
    case 2:
      return shim.FdClose(a);
    case 3:
      return shim.FdDatasync(a);
    case 4:
      return shim.FdFdstatGet(a, b);
    case 5:
      return shim.FdFdstatSetFlags(a, b);
    case 6:
      return shim.FdFdstatSetRights(a, in.Long(), in.Long());
    case 7:
      return shim.FdFilestatGet(a, b);
    case 8:
      return shim.FdFilestatSetSize(a, in.Long());
    case 9:
      return shim.FdFilestatSetTimes(a, in.Long(), in.Long(), b);
    case 10:
      return shim.FdPread(a, b, in.Word(), in.Long(), in.Word());
    case 11:
      return shim.FdPrestatDirName(a, b, in.Word());
    case 12:
      return shim.FdPrestatGet(a, b);
    case 13:
      return shim.FdPwrite(a, b, in.Word(), in.Long(), in.Word());
    case 14:
      return shim.FdRead(a, b, in.Word(), in.Word());
    case 15:
      return shim.FdReaddir(a, b, in.Word(), in.Long(), in.Word());
    case 16:
      return shim.FdRenumber(a, b);
    case 17:
      return shim.FdSeek(a, in.Long(), b, in.Word());
    case 18:
      return shim.FdTell(a, b);
    case 19:
      return shim.FdWrite(a, b, in.Word(), in.Word());
    case 20:
      return shim.SockRecv(a, b, in.Word(), in.Word(), in.Word(), in.Word());
    case 21:
      return shim.ArgsGet(a, b);
    case 22:
      return shim.ArgsSizesGet(a, b);
    case 23:
      return shim.ClockTimeGet(a, in.Long(), b);
    case 24:
      return shim.RandomGet(a, b);
    default:
      return shim.PollOneoff(a, b, in.Word(), in.Word());
  }
}

// Writes one of a few paths, or bytes of the input, to the memory and returns its length.
std::uint32_t PutPath(std::vector<std::uint8_t>& memory, Input& in, std::uint32_t at) {
  static constexpr std::array<std::string_view, 12> kPaths = {
      "/tmp/a", "/tmp/d", "/tmp/d/e",  "/output/a", "/output/d/../x", "tmp",
      "/",      "..",     "/lib/a.py", "/input/in", "/dev/urandom",   "/output/given"};
  const std::uint8_t which = in.Byte();
  if (which < kPaths.size()) {
    std::ranges::copy(kPaths[which], memory.begin() + at);
    return static_cast<std::uint32_t>(kPaths[which].size());
  }
  const std::uint32_t length = which % 32;
  for (std::uint32_t i = 0; i < length; ++i) memory[at + i] = in.Byte();
  return length;
}

Errno CallPath(WasiShim& shim, Input& in, std::vector<std::uint8_t>& memory, std::uint8_t which) {
  const std::uint32_t fd = in.Byte() % 4 == 0 ? in.Word() : 3;
  const std::uint32_t path = in.Byte() % 16 == 0 ? in.Word() : 0x100;
  const std::uint32_t length = PutPath(memory, in, 0x100);
  const std::uint32_t other = PutPath(memory, in, 0x200);
  switch (which % 8) {
    case 0:
      return shim.PathCreateDirectory(fd, path, length);
    case 1:
      return shim.PathFilestatGet(fd, 0, path, length, in.Word());
    case 2:
      return shim.PathFilestatSetTimes(fd, 0, path, length, in.Long(), in.Long(), in.Word());
    case 3:
      return shim.PathReadlink(fd, path, length, in.Word(), in.Word(), in.Word());
    case 4:
      return shim.PathRemoveDirectory(fd, path, length);
    case 5:
      return shim.PathRename(fd, path, length, 3, 0x200, other);
    case 6:
      return shim.PathUnlinkFile(fd, path, length);
    default:
      return shim.PathOpen(fd, 0, path, length, in.Byte() % 32, in.Byte(), 0, in.Byte() % 64,
                           in.Word());
  }
}

}  // namespace
}  // namespace caisson::worker

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caisson::worker;  // NOLINT(google-build-using-namespace)
  static const std::string packed =
      PackLibrary({{"lib/a.py", "import b"}, {"lib/b/c.py", "c"}, {"lib/b/d.py", "d"}});
  static const auto given = std::make_shared<const std::string>("given");
  static FuzzServices services;
  // One for all inputs, so that anything that Reset() misses shows.
  static CellFiles files(services);
  const auto started = files.Start(
      *LibraryImage::Parse(BytesOf(packed)), {{"/input/in", given}, {"/output/given", given}},
      {.file_bytes = 200'000, .total_bytes = 300'000, .inodes = 20, .open_files = 8});
  if (!started) std::abort();

  // A separate allocation, so that AddressSanitizer detects accesses one byte before and after it.
  std::vector<std::uint8_t> memory(Input::kMemoryBytes);
  const std::size_t filled = std::min<std::size_t>(size / 2, memory.size());
  std::copy_n(data, filled, memory.begin());
  Input in(data + filled, size - filled);
  for (int calls = 0; calls < 200 && !in.AtEnd(); ++calls) {
    const Input arguments = in;
    Progress progress;
    auto answer = Errno::kUnfinished;
    while (answer == Errno::kUnfinished) {
      in = arguments;
      WasiShim shim({.memory = {memory.data(), memory.size()},
                     .files = files,
                     .services = services,
                     .progress = progress});
      const std::uint8_t which = in.Byte();
      answer = which % 2 == 0 ? CallPath(shim, in, memory, which / 2)
                              : CallDescriptor(shim, in, which / 2);
    }
  }
  std::uint64_t captured = 0;
  for (const CapturedFile& file : files.Captured().files) captured += file.size;
  if (captured > 300'000 + given->size()) std::abort();
  files.Reset();
  return 0;
}
