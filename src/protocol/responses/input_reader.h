// Reads the items of a request's input: messages, results, decisions, and whole histories.
//
// Trust     Items are hostile and the client's word. A call of a history becomes a finished call
//           without a run. Ids of items are replaced by new ones, so that a client cannot choose
//           the id of a stored item.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/responses/create_request.h"
#include "protocol/responses/field_reader.h"

namespace caisson::responses {

inline constexpr std::size_t kMaxInputItems = 10'000;
inline constexpr std::size_t kMaxParts = 1'000;

// A string is one message of the user. `place`: the name of the field.
Result<std::vector<InputItem>> ReadInput(const Value& value, std::string_view place,
                                         ApiError& refusal);

}  // namespace caisson::responses
