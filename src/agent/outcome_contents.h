// ToContents shows a model how a run went: stdout, stderr, then the value or what went wrong, then files,
// always in this order. A run that failed keeps what it printed and wrote.
//
// Trust     Texts and files are the guest's: bounded by the run's limits, made UTF-8, otherwise as they are.
// Threads   Pure.
// Lifetime  Pure.
#pragma once

#include <vector>

#include "runs/cells/code_runner.h"
#include "tools/content.h"

namespace caisson {

std::vector<Content> ToContents(const CodeRun& run);

}  // namespace caisson
