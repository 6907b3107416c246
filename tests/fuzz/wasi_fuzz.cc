// Any sequence of WASI calls with any arguments stays inside the guest's memory and the cell's
// quotas.
//
// The input starts as the guest's memory; the rest is a list of calls. Arguments are mostly small,
// so that calls meet each other's files, and sometimes any number at all.

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

void CallDescriptor(WasiShim& shim, Input& in, std::uint8_t which) {
  const std::uint32_t a = in.Word();
  const std::uint32_t b = in.Word();
  switch (which % 26) {
    case 0:
      (void)shim.FdAdvise(a, in.Long(), in.Long(), b);
      break;
    case 1:
      (void)shim.FdAllocate(a, in.Long(), in.Long());
      break;
    case 2:
      (void)shim.FdClose(a);
      break;
    case 3:
      (void)shim.FdDatasync(a);
      break;
    case 4:
      (void)shim.FdFdstatGet(a, b);
      break;
    case 5:
      (void)shim.FdFdstatSetFlags(a, b);
      break;
    case 6:
      (void)shim.FdFdstatSetRights(a, in.Long(), in.Long());
      break;
    case 7:
      (void)shim.FdFilestatGet(a, b);
      break;
    case 8:
      (void)shim.FdFilestatSetSize(a, in.Long());
      break;
    case 9:
      (void)shim.FdFilestatSetTimes(a, in.Long(), in.Long(), b);
      break;
    case 10:
      (void)shim.FdPread(a, b, in.Word(), in.Long(), in.Word());
      break;
    case 11:
      (void)shim.FdPrestatDirName(a, b, in.Word());
      break;
    case 12:
      (void)shim.FdPrestatGet(a, b);
      break;
    case 13:
      (void)shim.FdPwrite(a, b, in.Word(), in.Long(), in.Word());
      break;
    case 14:
      (void)shim.FdRead(a, b, in.Word(), in.Word());
      break;
    case 15:
      (void)shim.FdReaddir(a, b, in.Word(), in.Long(), in.Word());
      break;
    case 16:
      (void)shim.FdRenumber(a, b);
      break;
    case 17:
      (void)shim.FdSeek(a, in.Long(), b, in.Word());
      break;
    case 18:
      (void)shim.FdTell(a, b);
      break;
    case 19:
      (void)shim.FdWrite(a, b, in.Word(), in.Word());
      break;
    case 20:
      (void)shim.SockRecv(a, b, in.Word(), in.Word(), in.Word(), in.Word());
      break;
    case 21:
      (void)shim.ArgsGet(a, b);
      break;
    case 22:
      (void)shim.ArgsSizesGet(a, b);
      break;
    case 23:
      (void)shim.ClockTimeGet(a, in.Long(), b);
      break;
    case 24:
      (void)shim.RandomGet(a, b);
      break;
    default:
      (void)shim.PollOneoff(a, b, in.Word(), in.Word());
      break;
  }
}

// Puts one of a few paths, or bytes of the input, into the memory and returns its length.
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

void CallPath(WasiShim& shim, Input& in, std::vector<std::uint8_t>& memory, std::uint8_t which) {
  const std::uint32_t fd = in.Byte() % 4 == 0 ? in.Word() : 3;
  const std::uint32_t path = in.Byte() % 16 == 0 ? in.Word() : 0x100;
  const std::uint32_t length = PutPath(memory, in, 0x100);
  const std::uint32_t other = PutPath(memory, in, 0x200);
  switch (which % 8) {
    case 0:
      (void)shim.PathCreateDirectory(fd, path, length);
      break;
    case 1:
      (void)shim.PathFilestatGet(fd, 0, path, length, in.Word());
      break;
    case 2:
      (void)shim.PathFilestatSetTimes(fd, 0, path, length, in.Long(), in.Long(), in.Word());
      break;
    case 3:
      (void)shim.PathReadlink(fd, path, length, in.Word(), in.Word(), in.Word());
      break;
    case 4:
      (void)shim.PathRemoveDirectory(fd, path, length);
      break;
    case 5:
      (void)shim.PathRename(fd, path, length, 3, 0x200, other);
      break;
    case 6:
      (void)shim.PathUnlinkFile(fd, path, length);
      break;
    default:
      (void)shim.PathOpen(fd, 0, path, length, in.Byte() % 32, in.Byte(), 0, in.Byte() % 64,
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
  static CellFiles files(services);  // One for all inputs: what Reset() forgets to forget shows.
  const auto started = files.Start(
      *LibraryImage::Parse(BytesOf(packed)), {{"/input/in", given}, {"/output/given", given}},
      {.file_bytes = 200'000, .total_bytes = 300'000, .inodes = 20, .open_files = 8});
  if (!started) std::abort();

  // Its own allocation, so that AddressSanitizer sees the byte before it and the byte after it.
  std::vector<std::uint8_t> memory(Input::kMemoryBytes);
  const std::size_t filled = std::min<std::size_t>(size / 2, memory.size());
  std::copy_n(data, filled, memory.begin());
  Input in(data + filled, size - filled);
  for (int calls = 0; calls < 200 && !in.AtEnd(); ++calls) {
    WasiShim shim({.memory = {memory.data(), memory.size()}, .files = files, .services = services});
    const std::uint8_t which = in.Byte();
    if (which % 2 == 0) {
      CallPath(shim, in, memory, which / 2);
    } else {
      CallDescriptor(shim, in, which / 2);
    }
  }
  std::uint64_t captured = 0;
  for (const CapturedFile& file : files.Captured().files) captured += file.size;
  if (captured > 300'000 + given->size()) std::abort();
  files.Reset();
  return 0;
}
