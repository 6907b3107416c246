// MapCellProcesses lists the mappings of a cell at rest. The list is for the cell itself, which is
// about to be saved.
//
// Trust     Reads what the kernel reports about a hostile process, and passes it on within bounds.
// Threads   Any; takes a fraction of a millisecond. The result is valid while the process waits for
//           the host.
// Lifetime  A function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

struct PipeNumbers {
  std::uint64_t out = 0;
  std::uint64_t error_out = 0;
};

struct ProcessMap {
  std::string bytes;  // In the format of wire/process_map.h. Empty if there are threads.
  std::size_t other_threads = 0;  // Threads besides the main one. They cannot be copied.
};

// Fails with kFailedPrecondition if the cell has more mappings than the format can hold.
Result<ProcessMap> MapCellProcesses(const UniqueFd& pidfd, PipeNumbers pipes);

}  // namespace caisson
