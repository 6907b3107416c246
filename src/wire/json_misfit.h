// FindJsonMisfit finds the part of a value that JSON cannot express, so that it can be refused
// early.
//
//   FindJsonMisfit(Dict{{{"rows", List{{1.0, NaN}}}}})
//     returns {"/rows/1", "JSON cannot hold NaN or infinity"}
//
// Trust     Values may be hostile: depth is bounded.
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

// Returns the first misfit. nullopt: ToJson(value) succeeds.
std::optional<JsonMisfit> FindJsonMisfit(const Value& value);
std::optional<JsonMisfit> FindJsonMisfit(const Dict& dict);

}  // namespace caisson
