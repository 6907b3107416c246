// ParseJson reads JSON text as a Value: the way back from ToJson (value.h).
//
//   ParseJson(R"({"n": [1, 2.0, null]})")      a Dict with one List: int, float, None
//
// An int stays an int of any size, a number with a point or exponent is a float.
//
// Trust     The text may be anybody's (a command's output, a server's answer): size of numbers, depth and
//           UTF-8 are checked and memory is charged; keys that come twice, lone surrogates and text after the
//           value are refused.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <string_view>

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

// The error says what is wrong and at which line and column. Its code is kResourceExhausted if the budget is used up or an
// object has more than kMaxDictKeys keys, otherwise kInvalidArgument.
Result<Value> ParseJson(std::string_view text, DecodeBudget& budget);
// The same within kMaxDecodedBytes.
Result<Value> ParseJson(std::string_view text);

}  // namespace caisson
