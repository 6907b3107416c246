// How a cell's last word on a run becomes an outcome.
//
// Trust     The report was written by the guest: it is decoded and every field checked. A report that
//           is not one is an error; that run failed, and nothing follows for anybody else's.
// Threads   Pure.
// Lifetime  Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "engine/outcome.h"
#include "wire/frames.h"

namespace caisson {

// Fills in status, reason, result, error, findings and usage. Output, calls and files stay as they
// are. `header.ending` has been checked to be one of Ending's.
Result<void> ApplyReport(const wire::DoneHeader& header, std::string_view report, Outcome& outcome);

// The part of it that needs no report: usage, and which output was cut off.
void ApplyMeasured(const wire::DoneHeader& header, Outcome& outcome);

}  // namespace caisson
