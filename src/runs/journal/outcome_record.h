// What a store keeps of a finished run: the outcome as bytes, all but the contents of its files, which are
// stored beside it by number, and a short summary for lists.
//
// Trust     As records.h. Outcomes stay hostile content.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/outcome.h"
#include "store/runs.h"

namespace caisson {

std::string EncodeOutcome(const Outcome& outcome);
Result<Outcome> DecodeOutcome(std::string_view bytes);

// Status, reason and the first files, up to 64 KiB of names. The others of an outcome are left out.
std::string EncodeSummary(const Outcome& outcome);
Result<Outcome> DecodeSummary(std::string_view bytes);

// All that is stored of a run with this outcome.
RunEnd ToRunEnd(const Outcome& outcome);
// About how many bytes ToRunEnd and the text of an outcome copy. Large ones do not belong on an event loop.
std::size_t OutcomeBytes(const Outcome& outcome);

}  // namespace caisson
