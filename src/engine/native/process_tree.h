// Lists the processes of a cell, as /proc shows them.
//
// Trust     Hostile processes end and begin meanwhile. A listed process may be gone, or its number
//           may belong to another process: check the cell afterwards (process_id.h).
// Threads   Any.
// Lifetime  Functions.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace caisson {

// Returns `root` and its descendants, at most a few hundred.
std::vector<pid_t> ProcessTree(pid_t root);

// Returns the first 4096 bytes of a file; empty if it cannot be read.
std::string ReadSmallFile(const std::string& path);

}  // namespace caisson
