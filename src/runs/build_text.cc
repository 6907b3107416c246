#include "runs/build_text.h"

#include <charconv>
#include <span>

namespace caisson {
namespace {

void AppendHex(std::span<const std::uint8_t> bytes, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const std::uint8_t byte : bytes) out += {kDigits[byte >> 4], kDigits[byte & 15]};
}

bool ParseHex(std::string_view text, std::span<std::uint8_t> bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (std::uint8_t& byte : bytes) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + 2, byte, 16);
    if (failed != std::errc() || end != text.data() + 2) return false;
    text.remove_prefix(2);
  }
  return true;
}

}  // namespace

std::string ToText(const CellBuild& build) {
  std::string text;
  AppendHex(build.build_id, text);
  text.push_back('/');
  AppendHex(build.base_hash, text);
  return text;
}

std::optional<CellBuild> ParseBuild(std::string_view text) {
  CellBuild build;
  const std::size_t slash = text.find('/');
  const bool whole = slash != text.npos && ParseHex(text.substr(0, slash), build.build_id) &&
                     ParseHex(text.substr(slash + 1), build.base_hash);
  return whole ? std::optional(build) : std::nullopt;
}

}  // namespace caisson
