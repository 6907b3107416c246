// Finds characters that a reader cannot see, or sees in a different place than they are.
//
// Trust     Text is hostile. It must be well-formed UTF-8.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

// Returns true for control characters, direction marks, characters without width or that look like
// a blank, tags, private-use characters and noncharacters.
bool IsDeceptive(std::uint32_t code_point);

// Replaces each deceptive character by its JSON escape (\u202e), in one or two units. A backslash
// is left alone: in JSON text a literal backslash is doubled, so the escapes are unambiguous.
std::string SpellOutDeceptive(std::string_view text);

}  // namespace caisson
