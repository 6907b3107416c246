// Runs the tests of this program again without privileges.
//
// Trust     Trusted test code.
// Threads   It forks: call it before other threads start, or while none holds a lock.
// Lifetime  Returns when the other process has ended.
#pragma once

#include <string>

namespace caisson::testing {

// Expects the tests that `filter` selects (in gtest's syntax) to pass as nobody. Skips if this is
// not root, because the tests then already run as an ordinary user, or if nobody may not read the
// build directory.
void ExpectPassAsNobody(const std::string& filter);

}  // namespace caisson::testing
