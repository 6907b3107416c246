// Ends a command: prints its text or its error, and returns the exit status.
//
// Trust     The text is safe to show; its parts from elsewhere are already escaped.
// Threads   One.
// Lifetime  Keeps nothing.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/exit_status.h"
#include "cli/output.h"

namespace caisson::cli {

// Returns `status` if all writes to `out` succeeded. Otherwise prints the error to stderr and
// returns another status. A closed pipe (`caisson run | head`) is not reported.
int AfterWriting(const Output& out, int status);

// Prints the text and returns `status`, or prints the error and returns its status.
int Tell(const Result<std::string>& text, int status = kExitCompleted);

}  // namespace caisson::cli
