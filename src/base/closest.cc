#include "base/closest.h"

#include <algorithm>
#include <cstddef>

namespace caisson {
namespace {

// The comparison takes quadratic time, and names may be hostile.
constexpr std::size_t kLongest = 64;

// The Damerau-Levenshtein distance, computed with three rows.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchange = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, exchange});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::optional<std::string_view> Closest(std::string_view name,
                                        const std::vector<std::string_view>& candidates) {
  if (name.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t least = name.size() / 3 + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = Distance(name, candidate);
    // If every letter differs, the names are not similar.
    if (distance > least || distance >= name.size() || (best && distance == least)) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& candidates) {
  const auto closest = Closest(name, candidates);
  return closest ? "; did you mean \"" + std::string(*closest) + "\"?" : std::string();
}

}  // namespace caisson
