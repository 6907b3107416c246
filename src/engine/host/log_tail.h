// ReadLogTail returns the end of what a worker or fork server wrote to its log.
//
// Trust     The text is hostile: it is bounded, and is for the operator only.
// Threads   Any.
// Lifetime  A function.
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace caisson {

// Reads the non-blocking pipe `log` and returns at most the last 2 KiB, without white space at the
// end. Stops after 256 KiB, in case the process still writes.
std::string ReadLogTail(const UniqueFd& log);

}  // namespace caisson
