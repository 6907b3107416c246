// When two values are the same to JSON: 1 and 1.0 are, a tuple and a list of the same things are, the order
// of keys does not matter, and true is not 1.
//
// Trust     Values may be hostile: nested ones are bounded by wire, numbers are compared without overflow.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <compare>
#include <string>

#include "wire/value.h"

namespace caisson {

// Equal exactly for values that are the same to JSON. Not JSON itself: it holds bytes, NaN and keys of any
// kind.
std::string CanonicalText(const Value& value);

// By size. Unordered if one is NaN or no number.
std::partial_ordering CompareNumbers(const Value& a, const Value& b);

// Whether `value` / `divisor` has no remainder; decimal fractions are taken as they are written
// (0.3 is a multiple of 0.1). Precondition: `divisor` is positive.
bool IsMultipleOf(const Value& value, const Value& divisor);

// An int, or a float without a fraction.
bool IsIntegral(const Value& value);

}  // namespace caisson
