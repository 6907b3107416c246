// SurveyCell says what a cell that is at rest has mapped, for the cell itself, which is about to be saved.
//
// Trust     Reads what the kernel says of a hostile process, and hands it on within bounds.
// Threads   Any; takes a fraction of a millisecond. What it says holds as long as the process waits for the host.
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

// As wire/survey.h has it. kFailedPrecondition: it has threads, or has mapped more than can be told.
Result<std::string> SurveyCell(const UniqueFd& pidfd, PipeNumbers pipes);

}  // namespace caisson
