// PrintConfig shows a configuration file as it is read, in one style, to somebody who may not know its secrets.
//
// Trust     The operator's file; whoever reads what is printed may be anybody. Secrets that are only named (…_env, …_file)
//           are shown by that name; values that are given away to programs, and what a URL carries besides its place,
//           are not.
// Threads   A pure function.
// Lifetime  Values.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

// The mistakes, as ParseConfig, if there are any.
Result<std::string> PrintConfig(std::string_view text, std::string_view file_name);

}  // namespace caisson
