// The state of a process that the kernel keeps besides its memory and that code can change:
// descriptors, signal handlers, timers, the working directory, the file mode mask. It is recorded
// in one cell and applied in another.
//
// Trust     In the cell that becomes a copy, all of it comes from the other cell. Applying it
//           requests nothing that code there could not request itself.
// Threads   One.
// Lifetime  It is kept in the scratch in between.
#pragma once

#include "base/result.h"
#include "engine/native/forkserver/baseline.h"
#include "engine/native/forkserver/process_map_reader.h"

namespace caisson::forkserver {

// Call it before the process map, so that the process map contains the names of open files.
void ProbeOpenFiles(Scratch& scratch);

// Call it after the process map. Fails with a readable reason if something open cannot be opened
// again. Allocates memory only then.
Result<void> NoteKernelState(const ProcessMapReader& process_map, int socket, Scratch& scratch);

// Call it in a process that has only the standard descriptors and `socket` open.
Result<void> ApplyKernelState(const Scratch& scratch);

}  // namespace caisson::forkserver
