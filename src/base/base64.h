// Bytes as letters (RFC 4648): base64 with padding, as JSON carries bytes, and base64url without, as URLs, headers
// and tokens do.
//
// Trust     Text may be anybody's; exactly one spelling of any bytes is taken: nothing for blanks, other letters,
//           padding that is wrong, and bits left over that are not zero.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace caisson {

std::string EncodeBase64(std::string_view bytes);
std::optional<std::string> DecodeBase64(std::string_view text);

std::string EncodeBase64Url(std::string_view bytes);
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace caisson
