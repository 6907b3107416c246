// A ProcessMap is the list of a cell's own mappings (wire/process_map.h), which the host sends and
// which lies in the cell's scratch.
//
// Trust     It comes from the host. It is checked even so, because memory is changed according to
//           it.
// Threads   One.
// Lifetime  A view of the scratch.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "wire/process_map.h"

namespace caisson::forkserver {

class ProcessMapReader {
 public:
  static std::optional<ProcessMapReader> Of(std::string_view bytes);

  std::uint64_t stdout_inode() const { return header_.stdout_inode; }
  std::uint64_t stderr_inode() const { return header_.stderr_inode; }

  // Calls `visit(mapping, path)` until it returns false. Returns whether it never did.
  template <typename Visit>
  bool ForEachMapping(Visit visit) const {
    std::string_view rest = mappings_;
    while (!rest.empty()) {
      const auto mapping = Take<wire::ProcessMapEntry>(rest);
      if (!visit(mapping, Text(rest, mapping.path_length))) return false;
    }
    return true;
  }

 private:
  ProcessMapReader() = default;

  template <typename T>
  static T Take(std::string_view& rest) {
    T pod;
    std::memcpy(&pod, rest.data(), sizeof pod);
    rest.remove_prefix(sizeof pod);
    return pod;
  }
  static std::string_view Text(std::string_view& rest, std::size_t length) {
    const std::string_view text = rest.substr(0, length);
    rest.remove_prefix(length);
    return text;
  }

  wire::ProcessMapHeader header_{};
  std::string_view mappings_;
};

}  // namespace caisson::forkserver
