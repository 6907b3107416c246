// The record of a finished run in a store: the outcome as bytes, a short summary for lists, and the
// contents of its files, by number.
//
// Trust     Same as records.h. Outcomes are hostile content.
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
// Returns the approximate number of bytes that ToRunEnd reads. Large outcomes are not encoded on an
// event loop.
std::size_t OutcomeBytes(const Outcome& outcome);

}  // namespace caisson
