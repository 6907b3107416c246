// Checks and repairs UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above
// U+10FFFF.
//
// Trust     Text may be any bytes.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

// Returns the length of the first character of `text`, or 0 if it is not well-formed. Precondition:
// `text` is not empty.
std::size_t CharacterSize(std::string_view text);

bool IsUtf8(std::string_view text);

// Returns the number of characters (code points). Precondition: the text is well-formed.
std::size_t CountCharacters(std::string_view text);

// Returns the bytes as UTF-8 text. Malformed parts become U+FFFD.
std::string ToUtf8(std::string_view bytes);

// Appends one character. Precondition: it is not a surrogate and not above U+10FFFF.
void AppendCharacter(std::string& text, std::uint32_t code_point);

}  // namespace caisson
