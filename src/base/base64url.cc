#include "base/base64url.h"

#include <cstdint>

namespace caisson {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string EncodeBase64Url(std::string_view bytes) {
  std::string text;
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : bytes) {
    buffer = (buffer << 8) | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text.push_back(kLetters[(buffer >> (bits - 6)) & 63]);
  }
  if (bits > 0) text.push_back(kLetters[(buffer << (6 - bits)) & 63]);
  return text;
}

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t value = kLetters.find(c);
    if (value == kLetters.npos) return std::nullopt;
    buffer = (buffer << 6) | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(buffer >> bits));
  }
  // A lone letter holds no byte, and bits that no byte takes must be zero.
  if (bits >= 6 || (buffer & ((1U << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace caisson
