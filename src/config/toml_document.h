// Reads a TOML file as a Value with the line of each of its parts.
//
// Trust     The operator's own file. Its size and depth are bounded. Dates and times are refused.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string_view>

#include "base/result.h"
#include "wire/located_value.h"

namespace caisson {

// The error names the line: "report.toml:3: ...".
Result<LocatedValue> ParseLocatedToml(std::string_view text, std::string_view file_name);

}  // namespace caisson
