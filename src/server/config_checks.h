// ChecksOfAStart returns the checks that a configuration must pass before anything starts: its
// tools can be made and its directories can be mounted. `caisson config check` makes the same
// checks and names the line of each mistake.
//
// Trust     The operator's file.
// Threads   Reads the file system and may block.
// Lifetime  A value.
#pragma once

#include "config/config.h"

namespace caisson {

ConfigChecks ChecksOfAStart();

}  // namespace caisson
