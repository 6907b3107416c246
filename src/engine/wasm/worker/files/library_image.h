// The packed read-only library (the files of the standard library) that every cell of a worker
// reads.
//
// Layout, little-endian, all offsets from the start of the image:
//   "CAISLIB1" | u32 entries | entries sorted by path, 28 bytes each | names | contents
//   entry: u32 path_offset | u32 path_bytes | u64 data_offset | u64 size | u32 kind (0 file, 1
//   directory)
// Paths have no leading slash. Every directory has an entry, except the root.
//
// Trust     Our own build makes the image, but the code does not rely on that: every offset is
//           checked before use, a bad entry counts as absent, and no loop is longer than the table.
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

  // Returns the entry at `index`. nullopt: there is none, or its offsets lead outside the image.
  // The root is a directory with an empty path.
  std::optional<Entry> At(LibraryIndex index) const;

  // Returns the entry with exactly this path, or kNone. The empty path is the root.
  LibraryIndex Find(std::string_view path) const;

  // Returns the first entry directly inside `directory` at or after position `from`, or kNone.
  LibraryIndex NextChild(std::string_view directory, std::uint32_t from) const;

  // Returns the position where the listing of `directory` starts.
  std::uint32_t FirstChildPosition(std::string_view directory) const;

 private:
  // Returns the first position whose path is not less than head + tail. Two parts, so that callers
  // need not join them.
  std::uint32_t LowerBound(std::string_view head, std::string_view tail) const;

  std::span<const std::uint8_t> image_;
  std::uint32_t count_ = 0;
};

}  // namespace caisson::worker
