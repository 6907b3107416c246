// Closest finds the name somebody probably meant: "did you mean ...?" in messages for people and models.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// The candidate nearest to `name` if it is near: at most a third of its letters are inserted, dropped,
// exchanged or swapped with a neighbour. Long names are not compared at all.
std::optional<std::string_view> Closest(std::string_view name,
                                        const std::vector<std::string_view>& candidates);

// "; did you mean \"to\"?", or nothing.
std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace caisson
