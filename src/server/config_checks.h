// ConfigChecks are what a configuration must stand before anything is started with it: tools that can be made,
// directories that can be shown. `caisson config check` asks the same as a start does, and names the line.
//
// Trust     The operator's own file.
// Threads   Looks at the file system; may block.
// Lifetime  A value.
#pragma once

#include "config/config.h"

namespace caisson {

ConfigChecks ChecksOfAStart();

}  // namespace caisson
