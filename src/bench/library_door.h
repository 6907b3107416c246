// Measures the library as a program that links it sees it: Host::Run on the program's main thread.
//
// Trust     Every outcome is checked.
// Threads   Blocks; must not be called on a lane.
// Lifetime  The Host is created and destroyed within the call.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/samples.h"

namespace caisson::bench {

struct LibraryPlan {
  std::string engine;
  std::string tier;
  std::string installation{};  // Same as for FindInstallation.
  int runs = 0;
};

// Microseconds from each call of Run to its return, back to back.
Result<Samples> LibraryRuns(const LibraryPlan& plan);

}  // namespace caisson::bench
