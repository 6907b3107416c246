// Converts a cell's final report on a run into an outcome.
//
// Trust     The guest wrote the report. It is decoded and every field is checked. An invalid report
//           is an error that fails this run and affects no other.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <string_view>

#include "base/result.h"
#include "engine/outcome.h"
#include "wire/frames.h"

namespace caisson {

// Fills in status, reason, result, error, findings and usage. Output, calls and files stay
// unchanged. Precondition: `header.ending` is a valid Ending.
Result<void> ApplyReport(const wire::DoneHeader& header, std::string_view report, Outcome& outcome);

// Fills in the part that needs no report: usage, and which output was truncated.
void ApplyMeasured(const wire::DoneHeader& header, Outcome& outcome);

}  // namespace caisson
