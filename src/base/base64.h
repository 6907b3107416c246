// Base64 with padding (RFC 4648 section 4), as JSON carries bytes.
//
// Trust     Text may be anybody's; only the one canonical spelling of some bytes is taken.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace caisson {

std::string EncodeBase64(std::string_view bytes);
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace caisson
