#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace caisson {
namespace {

// The length of the UTF-8 sequence at the front of `text`, or 0 if it is none.
std::size_t SequenceBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto follows = [&](std::size_t i, std::uint8_t low, std::uint8_t high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    // Neither overlong (E0 80..9F) nor a surrogate (ED A0..BF).
    const std::uint8_t low = lead == 0xe0 ? 0xa0 : 0x80;
    const std::uint8_t high = lead == 0xed ? 0x9f : 0xbf;
    return follows(1, low, high) && follows(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const std::uint8_t low = lead == 0xf0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2, 0x80, 0xbf) && follows(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    if (std::uint64_t word; text.size() >= sizeof word) {
      std::memcpy(&word, text.data(), sizeof word);
      if ((word & 0x8080808080808080) == 0) {
        text.remove_prefix(sizeof word);
        continue;
      }
    }
    const std::size_t length = SequenceBytes(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace caisson
