// PrintConfig prints a configuration file in one style, without its secrets.
//
// Trust     The file is the operator's; anybody may read the output. Secrets that are only named
//           (…_env, …_file) are shown by that name. Values that are passed to programs, and the
//           parts of a URL other than its location, are hidden.
// Threads   A pure function.
// Lifetime  Values.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

// Fails with the same mistakes as ParseConfig.
Result<std::string> PrintConfig(std::string_view text, std::string_view file_name);

}  // namespace caisson
