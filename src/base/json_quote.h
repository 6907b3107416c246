// Returns any text as a JSON string, with quotes and escapes.
//
// Trust     The text may be any bytes. Invalid UTF-8 becomes U+FFFD.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string>
#include <string_view>

namespace caisson {

std::string JsonQuoted(std::string_view text);

}  // namespace caisson
