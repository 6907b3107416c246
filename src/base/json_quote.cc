#include "base/json_quote.h"

#include "base/utf8.h"

namespace caisson {

std::string JsonQuoted(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  static constexpr std::string_view kShort = "\"\\\n\r\t";
  static constexpr std::string_view kShortNames = "\"\\nrt";
  std::string out = "\"";
  for (const char c : ToUtf8(text)) {
    if (const std::size_t i = kShort.find(c); i != kShort.npos) {
      out.append({'\\', kShortNames[i]});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00").append({kDigits[c >> 4], kDigits[c & 15]});
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

}  // namespace caisson
