// ReadSource reads the code to run from a file or from stdin.
//
// Trust     The path comes from the user. The bytes are hostile and not checked here; the guest
//           judges them.
// Threads   Blocks.
// Lifetime  A value.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace caisson::cli {

// An empty `path` or "-" means stdin. Reads at most `max_bytes` + 1 bytes, so that an endless
// source ends and the size shows that the code is too long.
Result<std::string> ReadSource(const std::string& path, std::size_t max_bytes);

}  // namespace caisson::cli
