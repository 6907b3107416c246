#include "base/utf8.h"

#include <algorithm>

namespace caisson {

std::size_t CharacterSize(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) > 0x9f;
  const bool too_high = lead == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || too_high ? 0 : size;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::size_t CountCharacters(std::string_view text) {
  const auto continues = [](char c) { return (static_cast<std::uint8_t>(c) & 0xc0) == 0x80; };
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues));
}

void AppendCharacter(std::string& text, std::uint32_t code_point) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xc0 | (code_point >> 6));
  } else {
    if (code_point < 0x10000) {
      put(0xe0 | (code_point >> 12));
    } else {
      put(0xf0 | (code_point >> 18));
      put(0x80 | ((code_point >> 12) & 0x3f));
    }
    put(0x80 | ((code_point >> 6) & 0x3f));
  }
  put(0x80 | (code_point & 0x3f));
}

}  // namespace caisson
