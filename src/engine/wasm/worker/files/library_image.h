// The packed read-only library (the standard library's files) that every cell of a worker reads.
//
// Layout, little-endian, all offsets from the start of the image:
//   "CAISLIB1" | u32 entries | entries sorted by path, 28 bytes each | names | contents
//   entry: u32 path_offset | u32 path_bytes | u64 data_offset | u64 size | u32 kind (0 file, 1
//   directory)
// Paths have no leading slash; every directory has an entry, the root has none.
//
// Trust     Our own build makes the image, yet nothing here relies on that: every offset is checked
//           where it is used, a bad entry is as if absent, and no loop is longer than the table.
// Threads   Immutable; any.
// Lifetime  A view of mapped memory that must outlive it. Parsing reads twelve bytes and allocates
//           nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace caisson::worker {

// A place in the library: the position of an entry, or the root, which has no entry.
enum class LibraryIndex : std::uint32_t { kRoot = 0xfffffffe, kNone = 0xffffffff };

class LibraryImage {
 public:
  enum class Kind : std::uint32_t { kFile = 0, kDirectory = 1 };

  struct Entry {
    std::string_view path;
    std::span<const std::uint8_t> contents;  // Empty for a directory.
    Kind kind = Kind::kFile;
  };

  // An empty library.
  LibraryImage() = default;

  static Result<LibraryImage> Parse(std::span<const std::uint8_t> image);

  std::uint32_t count() const { return count_; }

  // The entry at `index`, or nothing if there is none or its offsets lead outside the image. The
  // root is a directory with an empty path.
  std::optional<Entry> At(LibraryIndex index) const;

  // The entry with exactly this path, or kNone. The empty path is the root.
  LibraryIndex Find(std::string_view path) const;

  // The first entry directly inside `directory` at or after position `from`, or kNone.
  LibraryIndex NextChild(std::string_view directory, std::uint32_t from) const;

  // Where the listing of `directory` starts.
  std::uint32_t FirstChildPosition(std::string_view directory) const;

 private:
  // The first position whose path is not less than head + tail (two parts, so that no one must join
  // them).
  std::uint32_t LowerBound(std::string_view head, std::string_view tail) const;

  std::span<const std::uint8_t> image_;
  std::uint32_t count_ = 0;
};

}  // namespace caisson::worker
