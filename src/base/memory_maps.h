// The memory mappings of a process: parses /proc/PID/maps.
//
// Trust     The kernel writes the text. The paths in it are chosen by the creators of the files.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson {

struct MemoryMapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string access{};  // For example "r-xp".
  std::uint64_t offset = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: not backed by a file.
  std::string_view path{};  // Also a name in brackets, or empty. Points into the parsed text.

  std::uint64_t size() const { return end - begin; }
};

// Removes the first line from `text` and returns its mapping. Does not allocate. Returns nullopt if
// the line is malformed.
std::optional<MemoryMapping> TakeMemoryMapping(std::string_view& text);

// Returns all mappings, sorted by address.
Result<std::vector<MemoryMapping>> ParseMemoryMaps(std::string_view text);

}  // namespace caisson
