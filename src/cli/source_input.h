// ReadSource gets the code to run from a file or from stdin.
//
// Trust     The path is the user's. The bytes are hostile and not looked at: the guest judges them.
// Threads   Blocks.
// Lifetime  A value.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace caisson::cli {

// `path` empty or "-": stdin. Reads at most `max_bytes` + 1 bytes, so that code that is too long
// shows by its size and an endless source ends.
Result<std::string> ReadSource(const std::string& path, std::size_t max_bytes);

}  // namespace caisson::cli
