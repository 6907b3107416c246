// FindJsonMisfit finds the part of a value that JSON cannot express, so that it can be refused
// early.
//
//   FindJsonMisfit(Dict{{{"rows", List{{1.0, NaN}}}}})
//     returns {"/rows/1", "JSON cannot hold NaN or infinity"}
//
// Trust     Values may be hostile: depth, and the time that long ints take, are bounded.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <optional>
#include <string>

#include "wire/value.h"

namespace caisson {

struct JsonMisfit {
  std::string path;  // A JSON pointer; empty for the value itself.
  std::string reason;
};

// Returns the first misfit. nullopt: ToJson has a text for the value, also inside `levels_around`
// lists or dicts that hold no long ints of their own.
std::optional<JsonMisfit> FindJsonMisfit(const Value& value, int levels_around = 0);
std::optional<JsonMisfit> FindJsonMisfit(const Dict& dict, int levels_around = 0);

}  // namespace caisson
