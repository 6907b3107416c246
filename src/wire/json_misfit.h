// FindJsonMisfit finds what of a value JSON has no word for, so that it can be refused before anybody relies on it.
//
//   FindJsonMisfit(Dict{{{"rows", List{{1.0, NaN}}}}})      {"/rows/1", "JSON cannot hold NaN or infinity"}
//
// Trust     Values may be hostile: depth is bounded.
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

// The first misfit. Nothing: ToJson(value) has a text.
std::optional<JsonMisfit> FindJsonMisfit(const Value& value);
std::optional<JsonMisfit> FindJsonMisfit(const Dict& dict);

}  // namespace caisson
