// What the kernel says a process has mapped: /proc/PID/maps, as data.
//
// Trust     The kernel's words. Paths in them are chosen by whoever made the files.
// Threads   A pure function.
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
  std::string access{};  // As in "r-xp".
  std::uint64_t offset = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: of no file.
  std::string_view path{};  // Or a name in brackets, or nothing. Of the text it was read from.

  std::uint64_t size() const { return end - begin; }
};

// Takes the first line off `text`, without allocating anything; nothing if it makes no sense.
std::optional<MemoryMapping> TakeMemoryMapping(std::string_view& text);

// All of it, in the order of addresses.
Result<std::vector<MemoryMapping>> ParseMemoryMaps(std::string_view text);

}  // namespace caisson
