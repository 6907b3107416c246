// A cell's files survive being saved and restored at any point, and no damaged blob harms.
//
// The input is a list of operations. After it, the cell is saved and restored into another, which
// must save to the same bytes and go on the same way; then the blob is damaged as the input says
// and restored again.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/wasm/worker/files/cell_files.h"
#include "engine/wasm/worker/files/library_fixture.h"

namespace caisson::worker {
namespace {

constexpr FileLimits kLimits = {
    .file_bytes = 200'000, .total_bytes = 300'000, .inodes = 16, .open_files = 8};

constexpr std::array<std::string_view, 16> kPaths = {
    "/tmp/a",        "/tmp/b",    "/tmp/d",      "/tmp/d/e", "/tmp/d/e/f", "/output/a",
    "/output/given", "/output/d", "/output/d/x", "/tmp",     "/",          "/lib",
    "/lib/b",        "/lib/a.py", "/input/in",   "/dev/zero"};

void Begin(CellFiles& files) {
  static const std::string packed =
      PackLibrary({{"lib/a.py", "import b"}, {"lib/b/c.py", "c"}, {"lib/b/d.py", "d"}});
  static const auto given = std::make_shared<const std::string>("given");
  if (!files.Start(*LibraryImage::Parse(BytesOf(packed)),
                   {{"/input/in", given}, {"/output/given", given}}, kLimits)) {
    std::abort();
  }
}

// Does the next operation of `in` and returns what can be seen of it.
std::uint64_t Step(CellFiles& files, ByteReader& in) {
  const auto what = in.Get<std::uint8_t>();
  const std::uint32_t fd = in.Get<std::uint8_t>() % 14;
  const std::string_view path = kPaths[in.Get<std::uint8_t>() % kPaths.size()];
  const std::uint64_t number = std::uint64_t{in.Get<std::uint16_t>()} * 4;
  static std::vector<std::uint8_t> bytes(70'000, 'x');
  const auto part = std::span(bytes).first(std::min<std::size_t>(number, bytes.size()));
  const auto seen = [](const auto& result) {
    return result ? static_cast<std::uint64_t>(*result)
                  : (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(result.error());
  };
  switch (what % 16) {
    case 0:
    case 1:
    case 2:
      return seen(files.Open(3, path,
                             {.create = (number & 4) != 0,
                              .exclusive = (number & 8) != 0 && (number & 16) != 0,
                              .truncate = (number & 32) != 0,
                              .read = true,
                              .write = (number & 64) != 0,
                              .flags = static_cast<std::uint16_t>((number >> 7) & 1)}));
    case 3:
      return static_cast<std::uint64_t>(files.Close(fd));
    case 4:
      return seen(files.Write(fd, part));
    case 5:
      return seen(files.WriteAt(fd, number * 2, part));
    case 6:
      return seen(files.Read(fd, part)) + (part.empty() ? 0 : part[0] + part.back());
    case 7:
      return seen(files.Seek(fd, static_cast<std::int64_t>(number), Whence::kSet));
    case 8:
      return static_cast<std::uint64_t>(files.SetSize(fd, number));
    case 9:
      return static_cast<std::uint64_t>(files.MakeDirectory(3, path));
    case 10:
      return static_cast<std::uint64_t>(files.RemoveDirectory(3, path));
    case 11:
      return static_cast<std::uint64_t>(files.Unlink(3, path));
    case 12:
      return static_cast<std::uint64_t>(
          files.Rename(3, path, 3, kPaths[number / 4 % kPaths.size()]));
    case 13:
      return static_cast<std::uint64_t>(files.Renumber(fd, number / 4 % 14));
    case 14: {
      const auto entry = files.EntryAt(fd, number / 4 % 64);
      if (!entry) return static_cast<std::uint64_t>(entry.error());
      return *entry ? (*entry)->inode * 7 + (*entry)->next_cookie + (*entry)->name.size() : 1;
    }
    default: {
      const auto stat = files.Stat(3, path);
      return stat ? stat->inode + stat->size + stat->modified
                  : static_cast<std::uint64_t>(stat.error());
    }
  }
}

std::string SavedFrom(const CellFiles& files) {
  std::string out;
  files.Save(out);
  return out;
}

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace
}  // namespace caisson::worker

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caisson::worker;  // NOLINT(google-build-using-namespace)
  static FixedServices services;
  static CellFiles first(services);
  static CellFiles second(services);
  const std::span<const std::uint8_t> input(data, size);
  const std::size_t damage_bytes = std::min<std::size_t>(size / 4, 24);
  const auto operations = input.first(size - damage_bytes);
  Begin(first);
  Begin(second);

  ByteReader before(operations.first(operations.size() / 2));
  ByteReader after(operations.subspan(operations.size() / 2));
  while (before.ok() && !before.AtEnd()) Step(first, before);
  const std::string blob = SavedFrom(first);
  Require(static_cast<bool>(second.Restore(BytesOf(blob))));
  Require(SavedFrom(second) == blob);
  ByteReader again = after;
  while (after.ok() && !after.AtEnd()) Require(Step(first, after) == Step(second, again));
  Require(SavedFrom(second) == SavedFrom(first));
  Require(second.Captured().files.size() == first.Captured().files.size());

  std::string damaged = blob;
  ByteReader damage(input.subspan(size - damage_bytes));
  while (damage.ok() && !damage.AtEnd()) {
    const std::size_t at = damage.Get<std::uint16_t>() % damaged.size();
    damaged[at] = static_cast<char>(damage.Get<std::uint8_t>());
  }
  Begin(second);
  if (second.Restore(BytesOf(damaged))) {
    ByteReader use(operations);
    while (use.ok() && !use.AtEnd()) Step(second, use);
    Require(SavedFrom(second).size() < kLimits.total_bytes + 20'000);
    std::uint64_t captured = 0;
    for (const CapturedFile& file : second.Captured().files) captured += file.size;
    Require(captured <= kLimits.total_bytes + 100);
  }
  // The input itself as a blob.
  Begin(second);
  (void)second.Restore(input);
  return 0;
}
