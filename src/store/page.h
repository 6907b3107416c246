// Lists are returned in pages, newest first.
//
// Trust     Queries come from clients; the limit is bounded.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace caisson {

inline constexpr std::uint32_t kMaxPageSize = 500;

struct PageQuery {
  std::optional<std::string> after{};  // `next` of the previous page.
  std::uint32_t limit = 50;            // At most kMaxPageSize; larger values are reduced to it.
};

template <typename T>
struct Page {
  std::vector<T> items;
  std::optional<std::string> next{};  // nullopt: this is the last page.
};

}  // namespace caisson
