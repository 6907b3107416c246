// Which characters a reader cannot see, or sees in another place than they are.
//
// Trust     Text is hostile; it is well-formed UTF-8.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

// Controls, marks that turn the direction of text, what has no width or only looks like a blank or like nothing, tags,
// private characters and what is no character at all.
bool IsDeceptive(std::uint32_t code_point);

// The same text with each of them spelled out as JSON does (\u202e), in one or two units. A backslash stays one: in
// JSON text, where a literal one is doubled, what is spelled out cannot be mistaken.
std::string SpellOutDeceptive(std::string_view text);

}  // namespace caisson
