#include "base/visible.h"

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace caisson {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Sorted. Unicode's default-ignorable characters, format characters, separators and controls,
// noncharacters of the first plane, private use.
constexpr Range kDeceptive[] = {
    {0x0000, 0x001f},     // Controls.
    {0x007f, 0x00a0},     // Delete, C1, no-break space.
    {0x00ad, 0x00ad},     // Soft hyphen.
    {0x034f, 0x034f},     // Combining grapheme joiner.
    {0x0600, 0x0605},     // Arabic number signs.
    {0x061c, 0x061c},     // Arabic letter mark.
    {0x06dd, 0x06dd},     //
    {0x070f, 0x070f},     //
    {0x08e2, 0x08e2},     //
    {0x115f, 0x1160},     // Hangul fillers.
    {0x1680, 0x1680},     // Ogham space.
    {0x17b4, 0x17b5},     // Khmer inherent vowels.
    {0x180b, 0x180f},     // Mongolian selectors.
    {0x2000, 0x200f},     // Spaces, zero width, direction marks.
    {0x2028, 0x202f},     // Separators, direction overrides, narrow space.
    {0x205f, 0x206f},     // Invisible operators, isolates.
    {0x2800, 0x2800},     // Braille blank.
    {0x3000, 0x3000},     // Ideographic space.
    {0x3164, 0x3164},     // Hangul filler.
    {0xe000, 0xf8ff},     // Private use.
    {0xfdd0, 0xfdef},     // Noncharacters.
    {0xfe00, 0xfe0f},     // Variation selectors.
    {0xfeff, 0xfeff},     // Byte order mark.
    {0xffa0, 0xffa0},     // Halfwidth filler.
    {0xfff0, 0xffff},     // Specials.
    {0x110bd, 0x110bd},   //
    {0x110cd, 0x110cd},   //
    {0x13430, 0x1343f},   // Hieroglyph controls.
    {0x1bca0, 0x1bca3},   // Shorthand controls.
    {0x1d173, 0x1d17a},   // Musical controls.
    {0xe0000, 0x10ffff},  // Tags, more selectors, private use.
};

// Precondition: well-formed text.
std::uint32_t CodePoint(std::string_view character) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i]));
  };
  if (character.size() == 1) return byte(0);
  std::uint32_t code_point = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i)
    code_point = (code_point << 6) | (byte(i) & 0x3f);
  return code_point;
}

void AppendUnit(std::uint32_t unit, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(unit >> shift) & 15];
}

void AppendSpelled(std::uint32_t code_point, std::string& out) {
  if (code_point < 0x10000) return AppendUnit(code_point, out);
  AppendUnit(0xd800 + ((code_point - 0x10000) >> 10), out);
  AppendUnit(0xdc00 + ((code_point - 0x10000) & 0x3ff), out);
}

}  // namespace

bool IsDeceptive(std::uint32_t code_point) {
  const auto* const range = std::ranges::lower_bound(kDeceptive, code_point, {}, &Range::last);
  return range != std::end(kDeceptive) && range->first <= code_point;
}

std::string SpellOutDeceptive(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f'; };
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t size = std::max<std::size_t>(CharacterSize(text), 1);
    const std::string_view character = text.substr(0, size);
    const std::uint32_t code_point = CodePoint(character);
    if (IsDeceptive(code_point)) {
      AppendSpelled(code_point, out);
    } else {
      out += character;
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace caisson
