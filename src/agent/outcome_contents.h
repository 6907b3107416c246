// ToContents turns a run into contents that a model reads: stdout, stderr, then the value or the
// error, then files, always in this order. A failed run also shows its output and files.
//
// Trust     Texts and files come from the guest. They are bounded by the run's limits and converted
//           to UTF-8, but otherwise unchanged.
// Threads   Pure.
// Lifetime  Pure.
#pragma once

#include <vector>

#include "runs/cells/code_runner.h"
#include "tools/content.h"

namespace caisson {

std::vector<Content> ToContents(const CodeRun& run);

}  // namespace caisson
