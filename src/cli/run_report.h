// How an outcome is told to a person: the value on stdout, everything else on stderr.
//
// Trust     The outcome's text is the guest's and goes through Output::WriteGuest.
// Threads   The main thread.
// Lifetime  No state.
#pragma once

#include "cli/output.h"
#include "engine/limits.h"
#include "engine/outcome.h"

namespace caisson::cli {

// Stdout and stderr of the run itself have been shown already, as they came.
void ReportOutcome(const Outcome& outcome, const Limits& limits, Output& out, Output& err);

}  // namespace caisson::cli
