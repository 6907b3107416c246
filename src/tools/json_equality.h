// Compares values as JSON does: 1 equals 1.0, a tuple equals a list with the same items, the order
// of keys does not matter, and true is not 1.
//
// Trust     Values may be hostile: wire bounds their nesting, and numbers are compared without
//           overflow.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <compare>
#include <string>

#include "wire/value.h"

namespace caisson {

// Returns the same text exactly for values that are equal in JSON. The text is not JSON itself: it
// can hold bytes, NaN and keys of any kind.
std::string CanonicalText(const Value& value);

// Compares by size. Unordered if one is NaN or not a number.
std::partial_ordering CompareNumbers(const Value& a, const Value& b);

// Returns true if `value` / `divisor` has no remainder. Decimal fractions count as written (0.3 is
// a multiple of 0.1). Precondition: `divisor` is positive.
bool IsMultipleOf(const Value& value, const Value& divisor);

// Returns true for an int, or a float without a fraction.
bool IsIntegral(const Value& value);

}  // namespace caisson
