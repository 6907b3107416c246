// Whether bytes are UTF-8.
//
// Trust     Any bytes.
// Threads   Any.
// Lifetime  Pure.
#pragma once

#include <string_view>

namespace caisson {

// As it is defined: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool IsUtf8(std::string_view text);

}  // namespace caisson
