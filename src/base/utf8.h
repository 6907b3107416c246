// Well-formed UTF-8, as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Trust     Text may be any bytes.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

// The length of the well-formed character that `text`, not empty, starts with, or 0.
std::size_t CharacterSize(std::string_view text);

bool IsUtf8(std::string_view text);

// How many characters (code points) well-formed text has.
std::size_t CountCharacters(std::string_view text);

// Appends one character. Precondition: it is no surrogate and not above U+10FFFF.
void AppendCharacter(std::string& text, std::uint32_t code_point);

}  // namespace caisson
