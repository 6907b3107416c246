// Runs the tests of this program again without privileges.
//
// Trust     Ours.
// Threads   Before any other is started, or with none that holds a lock: it forks.
// Lifetime  Returns when the other process has ended.
#pragma once

#include <string>

namespace caisson::testing {

// Expects the tests that `filter` names (as gtest has it) to pass as nobody. Skips if this is not root,
// whose tests run as an ordinary user anyway, or if nobody may not read the build directory.
void ExpectPassAsNobody(const std::string& filter);

}  // namespace caisson::testing
