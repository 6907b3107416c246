// CanonicalJson gives every value one text, and no two values the same one: what is hashed, shown and compared.
//
// The text is that of RFC 8785 (no spaces, keys in the order of their UTF-16 units, numbers as ECMAScript writes
// them), and where JSON would make one of two values, it keeps them apart:
//
//   1 and 1.0          1    1.0                   an int is exact at any size; a float shows that it is one
//   b"hi"              {"$bytes":"aGk"}               base64url
//   (1, 2)             {"$tuple":[1,2]}
//   nan, inf, -inf     {"$float":"nan"}           NaNs of different bits are one: nobody can tell them apart
//   10**5000           {"$int":"0x..."}           an int of more than kMaxJsonDigits digits, as Python's hex() writes it
//   {1: "a"}           {"$dict":[[1,"a"]]}        and so is {"$x": 1}, lest it be taken for one of these
//
// The order of a dict's keys is no difference, to Python neither.
//
// Trust     Values may be hostile: depth is bounded, text that is no UTF-8 (lone surrogates) and keys that come twice
//           are refused, so nothing is guessed.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

// The longest text. Control characters take six bytes each, None four.
inline constexpr std::size_t kMaxCanonicalBytes = 16u << 20;

// Fails with kInvalidArgument for a value that has no such text, with kResourceExhausted if the text is too long.
Result<std::string> CanonicalJson(const Value& value);

// The canonical text as people are shown it, everywhere: characters that hide or move others are spelled out (\u202e). It
// is still JSON of the same value.
Result<std::string> ShownJson(const Value& value);

// The value of which `text` is the canonical text. Any other text is refused: so that what was hashed, what is shown
// and what is done can only be one thing.
Result<Value> ParseCanonicalJson(std::string_view text);

}  // namespace caisson
