// Lists come in pages, newest first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace caisson {

inline constexpr std::uint32_t kMaxPageSize = 500;

struct PageQuery {
  std::optional<std::string> after{};  // The `next` of the page before.
  std::uint32_t limit = 50;            // Cut to kMaxPageSize.
};

template <typename T>
struct Page {
  std::vector<T> items;
  std::optional<std::string> next{};  // Nothing: there is no more.
};

}  // namespace caisson
