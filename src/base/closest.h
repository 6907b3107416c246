// Closest finds the name that was probably meant: "did you mean ...?" in messages for people and
// models.
//
// Trust     Names may be hostile. The work is bounded: long names are not compared.
// Threads   Pure functions.
// Lifetime  The result refers to the candidates.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// Returns the candidate nearest to `name`, if at most a third of its letters are inserted, dropped,
// replaced or swapped with a neighbour. Returns nullopt for long names, which are not compared at
// all.
std::optional<std::string_view> Closest(std::string_view name,
                                        const std::vector<std::string_view>& candidates);

// Returns "; did you mean \"to\"?", or "" if no candidate is close.
std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace caisson
