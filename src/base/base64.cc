#include "base/base64.h"

#include <cstddef>
#include <cstdint>

namespace caisson {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string Encode(std::string_view bytes, std::string_view letters) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : bytes) {
    buffer = buffer << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text.push_back(letters[buffer >> (bits - 6) & 63]);
  }
  if (bits > 0) text.push_back(letters[buffer << (6 - bits) & 63]);
  return text;
}

std::optional<std::string> Decode(std::string_view text, std::string_view letters) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t value = letters.find(c);
    if (value == letters.npos) return std::nullopt;
    buffer = buffer << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(buffer >> bits));
  }
  // A single leftover letter encodes no byte, and leftover bits must be zero.
  if (bits >= 6 || (buffer & ((1U << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text = Encode(bytes, kLetters);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  text.remove_suffix(text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0);
  return Decode(text, kLetters);
}

std::string EncodeBase64Url(std::string_view bytes) {
  return Encode(bytes, kUrlLetters);
}

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  return Decode(text, kUrlLetters);
}

}  // namespace caisson
