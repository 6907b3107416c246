// A cell's files survive being saved and restored at any point, and no damaged blob does harm.
//
// The input is a list of operations. After it, the cell is saved and restored into another, which
// must save to the same bytes and continue in the same way. Then the blob is damaged as the input
// says and restored again. Two directories of the host are mounted; their requests are answered at
// once.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "engine/wasm/worker/files/cell_files.h"
#include "engine/wasm/worker/files/library_fixture.h"

namespace caisson::worker {
namespace {

constexpr FileLimits kLimits = {.file_bytes = 200'000,
                                .total_bytes = 300'000,
                                .inodes = 16,
                                .open_files = 8,
                                .mount_file_bytes = 150'000};

constexpr std::array<std::string_view, 24> kPaths = {
    "/m/a",       "/m/b",      "/m/d",          "/m/d/f",    "/m/d/gone",   "/m",
    "/ro/a",      "/ro/d/f",   "/tmp/a",        "/tmp/b",    "/tmp/d",      "/tmp/d/e",
    "/tmp/d/e/f", "/output/a", "/output/given", "/output/d", "/output/d/x", "/tmp",
    "/",          "/lib",      "/lib/b",        "/lib/a.py", "/input/in",   "/dev/zero"};

void Begin(CellFiles& files) {
  static const std::string packed =
      PackLibrary({{"lib/a.py", "import b"}, {"lib/b/c.py", "c"}, {"lib/b/d.py", "d"}});
  static const auto given = std::make_shared<const std::string>("given");
  if (!files.Start(*LibraryImage::Parse(BytesOf(packed)),
                   {{"/input/in", given}, {"/output/given", given}}, kLimits,
                   {{"/m", true, 250'000}, {"/ro", false, 0}})) {
    std::abort();
  }
}

void AppendEntry(std::string_view name, std::uint64_t size, bool directory, std::string& out) {
  const wire::ListedHeader header{.version = {.inode = 10 + size, .size = size, .modified_ns = 5},
                                  .name_length = static_cast<std::uint16_t>(name.size()),
                                  .directory = static_cast<std::uint16_t>(directory ? 1 : 0),
                                  .reserved = 0};
  out.append(reinterpret_cast<const char*>(&header), sizeof header).append(name);
}

// The host has "a" and "d", in that "f", which is too large to be copied, and one that cannot be
// read. A damaged blob may request anything else.
void Answer(CellFiles& files) {
  using wire::FileError;
  const HostRequest wanted = files.wanted();
  std::string bytes;
  FileError error = FileError::kNone;
  if (wanted.kind == HostRequest::Kind::kList && wanted.path.empty()) {
    AppendEntry("a", 100'000, false, bytes);
    AppendEntry("d", 0, true, bytes);
  } else if (wanted.kind == HostRequest::Kind::kList && wanted.path == "d") {
    AppendEntry("f", 160'000, false, bytes);
    AppendEntry("gone", 7, false, bytes);
  } else if (wanted.kind == HostRequest::Kind::kList || wanted.path == "d/gone") {
    error = FileError::kGone;
  } else {
    bytes.resize(wanted.length);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>('a' + (wanted.offset + i) % 26);
    }
  }
  if (!files.Deliver(error, bytes)) std::abort();
}

// Does the next operation of `in` and returns its visible result; nullopt if the host must be
// asked.
std::optional<std::uint64_t> TryStep(CellFiles& files, ByteReader& in) {
  const auto what = in.Get<std::uint8_t>();
  const std::uint32_t fd = in.Get<std::uint8_t>() % 14;
  const std::string_view path = kPaths[in.Get<std::uint8_t>() % kPaths.size()];
  const std::uint64_t number = std::uint64_t{in.Get<std::uint16_t>()} * 4;
  static std::vector<std::uint8_t> bytes(70'000, 'x');
  const auto part = std::span(bytes).first(std::min<std::size_t>(number, bytes.size()));
  const auto code = [](Errno error) -> std::optional<std::uint64_t> {
    if (error == Errno::kPending) return std::nullopt;
    return (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(error);
  };
  const auto seen = [&](const auto& result) {
    return result ? static_cast<std::uint64_t>(*result) : code(result.error());
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
      return code(files.Close(fd));
    case 4:
      return seen(files.Write(fd, part));
    case 5:
      return seen(files.WriteAt(fd, number * 2, part));
    case 6:
      return seen(files.Read(fd, part)).transform([&](std::uint64_t n) {
        return n + (part.empty() ? 0 : part[0] + part.back());
      });
    case 7:
      return seen(files.Seek(fd, static_cast<std::int64_t>(number), Whence::kSet));
    case 8:
      return code(files.SetSize(fd, number));
    case 9:
      return code(files.MakeDirectory(3, path));
    case 10:
      return code(files.RemoveDirectory(3, path));
    case 11:
      return code(files.Unlink(3, path));
    case 12:
      return code(files.Rename(3, path, 3, kPaths[number / 4 % kPaths.size()]));
    case 13:
      return code(files.Renumber(fd, number / 4 % 14));
    case 14: {
      const auto entry = files.EntryAt(fd, number / 4 % 64);
      if (!entry) return code(entry.error());
      return *entry ? (*entry)->inode * 7 + (*entry)->next_cookie + (*entry)->name.size() : 1;
    }
    default: {
      const auto stat = files.Stat(3, path);
      return stat ? stat->inode + stat->size + stat->modified : code(stat.error());
    }
  }
}

std::uint64_t Step(CellFiles& files, ByteReader& in) {
  while (true) {
    ByteReader once = in;
    if (const auto seen = TryStep(files, once)) {
      in = once;
      return *seen;
    }
    Answer(files);
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
