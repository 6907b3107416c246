// FindJsonMisfit finds what of a value JSON has no word for, so that it can be refused before anybody relies on it.
//
//   FindJsonMisfit(Dict{{{"rows", List{{1.0, NaN}}}}})      {"/rows/1", "JSON cannot hold NaN or infinity"}
//
// Trust     Values may be hostile: depth, and the time that long ints take, are bounded.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <optional>
#include <string>

#include "wire/value.h"

namespace caisson {

struct JsonMisfit {
  std::string path;  // A JSON pointer to it; empty for the value itself.
  std::string reason;
};

// Returns the first misfit. nullopt: ToJson has a text for the value, also inside `levels_around` lists or dicts that hold
// no long ints of their own.
std::optional<JsonMisfit> FindJsonMisfit(const Value& value, int levels_around = 0);
std::optional<JsonMisfit> FindJsonMisfit(const Dict& dict, int levels_around = 0);

}  // namespace caisson
