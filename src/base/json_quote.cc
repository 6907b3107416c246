#include "base/json_quote.h"

#include <algorithm>

#include "base/utf8.h"

namespace caisson {

std::string JsonQuoted(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  static constexpr std::string_view kShort = "\"\\\n\r\t";
  static constexpr std::string_view kShortNames = "\"\\nrt";
  std::string made;
  if (!IsUtf8(text)) text = made = ToUtf8(text);
  std::string out;
  out.reserve(text.size() + text.size() / 8 + 2);
  out.push_back('"');
  const auto is_plain = [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
  };
  while (!text.empty()) {
    const auto end = std::ranges::find_if_not(text, is_plain);
    out.append(text.begin(), end);  // Most text has long plain parts.
    text = {end, text.end()};
    if (text.empty()) break;
    const char c = text.front();
    text.remove_prefix(1);
    if (const std::size_t i = kShort.find(c); i != kShort.npos) {
      out.append({'\\', kShortNames[i]});
    } else {
      out.append("\\u00").append({kDigits[c >> 4], kDigits[c & 15]});
    }
  }
  out.push_back('"');
  return out;
}

}  // namespace caisson
