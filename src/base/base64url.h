// Base64url without padding (RFC 4648 section 5): bytes as text that fits URLs, headers and JSON.
//
// Trust     Decode takes hostile text and accepts exactly one spelling of any bytes.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace caisson {

std::string EncodeBase64Url(std::string_view bytes);

// Nothing for padding, blanks, other letters, and bits left over that are not zero.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace caisson
