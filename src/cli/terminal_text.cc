#include "cli/terminal_text.h"

#include <cstddef>
#include <utility>

namespace caisson::cli {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

unsigned char Byte(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

void AppendSpelled(unsigned char byte, std::string& out) {
  out += "\\x";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

// Returns the length of a character that begins with this byte; 0: no character does.
std::size_t Length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
}

// Returns whether byte `i` (not the first) is valid. The second byte shows overlong forms,
// surrogates and code points beyond U+10FFFF.
bool MayFollow(std::string_view text, std::size_t i) {
  const unsigned char byte = Byte(text, i);
  if ((byte & 0xC0) != 0x80) return false;
  if (i != 1) return true;
  switch (Byte(text, 0)) {
    case 0xE0:
      return byte >= 0xA0;
    case 0xED:
      return byte <= 0x9F;
    case 0xF0:
      return byte >= 0x90;
    case 0xF4:
      return byte <= 0x8F;
    default:
      return true;
  }
}

bool IsControl(std::string_view character) {
  const unsigned char first = Byte(character, 0);
  if (character.size() == 1)
    return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
  // C1: many terminals read U+009B as the start of a command, like ESC [.
  return first == 0xC2 && Byte(character, 1) < 0xA0;
}

}  // namespace

std::string TerminalText::Escape(std::string_view bytes) {
  std::string joined;
  if (!kept_.empty()) {
    joined = std::exchange(kept_, {}).append(bytes);
    bytes = joined;
  }
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = Length(Byte(bytes, 0));
    std::size_t good = length == 0 ? 0 : 1;
    while (good < length && good < bytes.size() && MayFollow(bytes, good)) ++good;
    if (good < length && good == bytes.size()) {
      kept_ = bytes;
      break;
    }
    if (length == 0 || good < length) {
      AppendSpelled(Byte(bytes, 0), out);
      bytes.remove_prefix(1);
      continue;
    }
    const std::string_view character = bytes.substr(0, length);
    if (IsControl(character)) {
      for (std::size_t i = 0; i < length; ++i) AppendSpelled(Byte(character, i), out);
    } else {
      out += character;
    }
    bytes.remove_prefix(length);
  }
  return out;
}

std::string TerminalText::Finish() {
  std::string out;
  for (const char c : std::exchange(kept_, {})) AppendSpelled(static_cast<unsigned char>(c), out);
  return out;
}

}  // namespace caisson::cli
