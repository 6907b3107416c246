// A Survey is the list of a cell's own mappings (wire/survey.h), which the host sends and which
// lies in the cell's scratch.
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

#include "wire/survey.h"

namespace caisson::nursery {

class Survey {
 public:
  static std::optional<Survey> Of(std::string_view bytes);

  std::uint64_t stdout_inode() const { return header_.stdout_inode; }
  std::uint64_t stderr_inode() const { return header_.stderr_inode; }

  // Calls `visit(mapping, path)` until it returns false. Returns whether it never did.
  template <typename Visit>
  bool ForEachMapping(Visit visit) const {
    std::string_view rest = mappings_;
    while (!rest.empty()) {
      const auto mapping = Take<wire::SurveyedMapping>(rest);
      if (!visit(mapping, Text(rest, mapping.path_length))) return false;
    }
    return true;
  }

 private:
  Survey() = default;

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

  wire::SurveyHeader header_{};
  std::string_view mappings_;
};

}  // namespace caisson::nursery
