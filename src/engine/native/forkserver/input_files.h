// Writes the files that come with a run into the cell's own /input, /tmp or /output.
//
// Trust     Runs in the confined cell: a bad path can do no more than code itself could.
// Threads   Before the run starts any.
// Lifetime  The files belong to the cell.
#pragma once

#include <string_view>

#include "base/result.h"

namespace caisson::forkserver {

// `encoded`: a list of (path, contents), or empty. The files are read-only.
Result<void> WriteInputFiles(std::string_view encoded);

}  // namespace caisson::forkserver
