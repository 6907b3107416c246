// CanonicalJson maps each value to exactly one text and no two values to the same text. This text
// is hashed, shown and compared.
//
// The text follows RFC 8785 (no spaces, keys sorted by UTF-16 units, numbers as ECMAScript writes
// them). Where JSON would merge two different values, the text keeps them apart:
//
//   1 and 1.0          1    1.0               an int is exact at any size; a float shows it
//   b"hi"              {"$bytes":"aGk"}       base64url
//   (1, 2)             {"$tuple":[1,2]}
//   nan, inf, -inf     {"$float":"nan"}       all NaNs are one: code cannot tell them apart
//   10**5000           {"$int":"0x..."}       over kMaxJsonDigits digits, as hex() writes it
//   {1: "a"}           {"$dict":[[1,"a"]]}    also {"$x": 1}, which looks like such a mark
//
// The order of keys in a dict makes no difference, as in Python.
//
// Trust     Values may be hostile. Depth is bounded. Text that is not UTF-8 (lone surrogates) and
//           duplicate keys are refused, so nothing is guessed.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

// The longest canonical text. A control character takes six bytes, None four.
inline constexpr std::size_t kMaxCanonicalBytes = 16u << 20;

// Fails with kInvalidArgument if the value has no canonical text, with kResourceExhausted if the
// text is too long.
Result<std::string> CanonicalJson(const Value& value);

// Returns the canonical text in the form that people are shown everywhere: characters that hide or
// move others are escaped (\u202e). It is still JSON of the same value.
Result<std::string> ShownJson(const Value& value);

// Returns the value whose canonical text is `text`. Refuses any other text, so that the hashed, the
// shown and the executed value are the same.
Result<Value> ParseCanonicalJson(std::string_view text);

}  // namespace caisson
