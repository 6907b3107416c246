// ParseJson reads JSON text as a Value; the reverse of ToJson (value.h).
//
//   ParseJson(R"({"n": [1, 2.0, null]})")      a Dict with one List: int, float, None
//
// An int stays an int of any size. A number with a point or an exponent is a float.
//
// Trust     The text may be hostile (the output of a command, the answer of a server). Number size,
//           depth and UTF-8 are checked and memory is charged. Duplicate keys, lone surrogates and
//           text after the value are refused.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string_view>

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

// The error says what is wrong and at which line and column. Fails with kResourceExhausted if the
// budget is used up or an object has more than kMaxDictKeys keys, otherwise with kInvalidArgument.
Result<Value> ParseJson(std::string_view text, DecodeBudget& budget);
// The same with a budget of kMaxDecodedBytes.
Result<Value> ParseJson(std::string_view text);

}  // namespace caisson
