// How a command that looks something up ends: it prints a text, or what went wrong.
//
// Trust     The text is ours to show: what came from elsewhere is escaped.
// Threads   One.
// Lifetime  Keeps nothing.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/exit_status.h"
#include "cli/output.h"

namespace caisson::cli {

// The exit status of a program that has written to `out`: `status` if that went well. If not,
// stderr says why; but a reader that leaves early (`caisson run | head`) is no news to anybody.
int AfterWriting(const Output& out, int status);

// The program's exit status: `status` if the text could be printed.
int Tell(const Result<std::string>& text, int status = kExitCompleted);

}  // namespace caisson::cli
