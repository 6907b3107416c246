// Base64 (RFC 4648): with padding, for bytes in JSON; and base64url without padding, for URLs,
// headers and tokens.
//
// Trust     Text may be hostile. Each byte string has exactly one accepted spelling: decoding
//           returns nullopt for blanks, foreign characters, wrong padding, and leftover bits that
//           are not zero.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
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
