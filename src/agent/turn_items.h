// Encodes the items of turns for the store. Conversations keep their items in this form, too.
//
// Trust     Decode reads data of the store and refuses data that is not valid.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/turn.h"
#include "base/result.h"
#include "wire/value.h"

namespace caisson {

std::string Encode(const TurnItem& item);
Result<TurnItem> DecodeTurnItem(std::string_view bytes);

Value ToValue(const TurnItem& item);
Result<TurnItem> TurnItemFrom(const Value& value);

// Returns a new id with this prefix: "msg_" and 26 characters. Later ids sort after earlier ones.
std::string NewTurnItemId(std::string_view prefix);
// Returns the prefix of the ids of such an item.
std::string_view PrefixOf(const TurnItem& item);

// Returns the memory that the texts of the item take, for bounds.
std::size_t TextBytes(const TurnItem& item);

}  // namespace caisson
