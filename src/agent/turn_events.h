// Encodes the events of a turn for the store, and rebuilds the output of a turn from them.
//
// Trust     Decode reads data of the store and refuses data that is not valid.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/turn.h"
#include "base/result.h"

namespace caisson {

// Without its number.
std::string Encode(const TurnEvent& event);
Result<TurnEvent> DecodeTurnEvent(std::string_view bytes);

// Adds the text of `more` to `last` if both are deltas of the same item. Returns whether it did.
bool Merge(TurnEvent& last, const TurnEvent& more);

// Adds to `output`, as it was stored last, what later events say. Returns the ids of the items that
// are not done. Items that were never stored as calls to be made are marked as cut.
std::set<std::string> AddEvents(const std::vector<TurnEvent>& events,
                                std::vector<TurnItem>& output);

}  // namespace caisson
