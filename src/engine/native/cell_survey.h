// SurveyCell says what a cell that is idle has in memory and open, for the cell itself, which is about to be saved.
//
// Trust     Reads what the kernel says of a hostile process, and interprets addresses alone. Bounded.
// Threads   Any; takes about a millisecond. What it says holds as long as the process waits for the host.
// Lifetime  A function.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

struct PipeNumbers {
  std::uint64_t out = 0;
  std::uint64_t error_out = 0;
};

struct CellSurvey {
  std::string bytes;            // As wire/survey.h has it.
  std::uint64_t own_bytes = 0;  // Of memory.
};

// kFailedPrecondition: it has threads, or has done more to its memory than can be told.
Result<CellSurvey> SurveyCell(const UniqueFd& pidfd, PipeNumbers pipes);

}  // namespace caisson
