// The text form of a saved run's build. A replica reads it to decide whether it can restore the
// run.
//
// Trust     Text of the store may be forged. It counts only after the saved bytes have been opened
//           with it.
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
