// A JSON string is any text in quotes, with what must be escaped.
//
// Trust     The text may be any bytes: what is no UTF-8 becomes U+FFFD.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <string>
#include <string_view>

namespace caisson {

std::string JsonQuoted(std::string_view text);

}  // namespace caisson
