#include "engine/wasm/worker/files/library_image.h"

#include <bit>
#include <cstring>

#include "engine/wasm/worker/files/masked_index.h"

namespace caisson::worker {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "CAISLIB1";
constexpr std::size_t kTableOffset = 12;
constexpr std::size_t kEntryBytes = 28;

template <typename T>
T LoadAt(std::span<const std::uint8_t> image, std::size_t offset) {
  T value;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

bool Inside(std::span<const std::uint8_t> image, std::uint64_t offset, std::uint64_t length) {
  return length <= image.size() && offset <= image.size() - length;
}

}  // namespace

Result<LibraryImage> LibraryImage::Parse(std::span<const std::uint8_t> image) {
  if (image.size() < kTableOffset || std::memcmp(image.data(), kMagic.data(), kMagic.size()) != 0) {
    return Error(ErrorCode::kInvalidArgument, "not a library image");
  }
  const auto count = LoadAt<std::uint32_t>(image, kMagic.size());
  if (count >= static_cast<std::uint32_t>(LibraryIndex::kRoot) ||
      count > (image.size() - kTableOffset) / kEntryBytes) {
    return Error(ErrorCode::kInvalidArgument, "the library image is cut off");
  }
  LibraryImage library;
  library.image_ = image;
  library.count_ = count;
  return library;
}

std::optional<LibraryImage::Entry> LibraryImage::At(LibraryIndex index) const {
  if (index == LibraryIndex::kRoot)
    return Entry{.path = {}, .contents = {}, .kind = Kind::kDirectory};
  const auto position = static_cast<std::uint32_t>(index);
  if (position >= count_) return std::nullopt;
  // The cookie of a listing can have any value.
  const std::size_t at = kTableOffset + MaskedIndex(position, count_) * kEntryBytes;
  const auto path_offset = LoadAt<std::uint32_t>(image_, at);
  const auto path_bytes = LoadAt<std::uint32_t>(image_, at + 4);
  const auto data_offset = LoadAt<std::uint64_t>(image_, at + 8);
  const auto size = LoadAt<std::uint64_t>(image_, at + 16);
  const auto kind = LoadAt<std::uint32_t>(image_, at + 24);
  if (!Inside(image_, path_offset, path_bytes) || kind > 1) return std::nullopt;
  Entry entry;
  entry.path = {reinterpret_cast<const char*>(image_.data()) + path_offset, path_bytes};
  entry.kind = static_cast<Kind>(kind);
  if (entry.kind == Kind::kFile) {
    if (!Inside(image_, data_offset, size)) return std::nullopt;
    entry.contents =
        image_.subspan(static_cast<std::size_t>(data_offset), static_cast<std::size_t>(size));
  }
  return entry;
}

std::uint32_t LibraryImage::LowerBound(std::string_view head, std::string_view tail) const {
  std::uint32_t low = 0;
  std::uint32_t high = count_;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const auto entry = At(LibraryIndex{middle});
    const std::string_view path = entry ? entry->path : std::string_view();
    int order = path.substr(0, head.size()).compare(head);
    if (order == 0) order = path.substr(head.size()).compare(tail);
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

LibraryIndex LibraryImage::Find(std::string_view path) const {
  if (path.empty()) return LibraryIndex::kRoot;
  const LibraryIndex index{LowerBound(path, {})};
  const auto entry = At(index);
  return entry && entry->path == path ? index : LibraryIndex::kNone;
}

std::uint32_t LibraryImage::FirstChildPosition(std::string_view directory) const {
  return directory.empty() ? 0 : LowerBound(directory, "/");
}

LibraryIndex LibraryImage::NextChild(std::string_view directory, std::uint32_t from) const {
  const std::size_t prefix_bytes = directory.empty() ? 0 : directory.size() + 1;
  while (from < count_) {
    const auto entry = At(LibraryIndex{from});
    if (!entry || entry->path.size() <= prefix_bytes || !entry->path.starts_with(directory) ||
        (prefix_bytes > 0 && entry->path[prefix_bytes - 1] != '/')) {
      return LibraryIndex::kNone;
    }
    const std::size_t slash = entry->path.find('/', prefix_bytes);
    if (slash == std::string_view::npos) return LibraryIndex{from};
    // Deeper down: skip everything below this child. '0' follows '/' in ASCII. An unsorted table
    // must not lead back.
    const std::uint32_t next = LowerBound(entry->path.substr(0, slash), "0");
    from = next > from ? next : from + 1;
  }
  return LibraryIndex::kNone;
}

}  // namespace caisson::worker
