// MapCellProcesses lists the mappings of a cell at rest. The list is for the cell itself, which is
// about to be saved.
//
// Trust     Reads what the kernel reports about a hostile process, and passes it on within bounds.
// Threads   Any; takes a fraction of a millisecond. The result is valid while the process waits for
//           the host.
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

// Returns the format of wire/process_map.h. Fails with kFailedPrecondition if the cell has threads,
// or more mappings than the format can hold.
Result<std::string> MapCellProcesses(const UniqueFd& pidfd, PipeNumbers pipes);

}  // namespace caisson
