// The build of a saved run as the store keeps it, for those who look whether they can take it up.
//
// Trust     Read back from the store: what it says counts only once the bytes it came with have been opened for it.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"

namespace caisson {

// "BUILD-ID/BASE-HASH", both in hex.
std::string ToText(const CellBuild& build);
std::optional<CellBuild> ParseBuild(std::string_view text);

}  // namespace caisson
