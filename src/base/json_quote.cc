#include "base/json_quote.h"

#include "base/utf8.h"

namespace caisson {

std::string JsonQuoted(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : ToUtf8(text)) {
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00").append({kDigits[c >> 4], kDigits[c & 15]});
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

}  // namespace caisson
