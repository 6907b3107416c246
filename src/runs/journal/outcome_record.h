// An outcome as bytes, all but the contents of its files: those are stored beside it, by number.
//
// Trust     As records.h. Outcomes stay hostile content.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/outcome.h"

namespace caisson {

std::string EncodeOutcome(const Outcome& outcome);
Result<Outcome> DecodeOutcome(std::string_view bytes);

}  // namespace caisson
