// OutputText converts pieces of output to text. A character that is split between two pieces is
// returned with the second.
//
// Trust     Bytes are the code's. Invalid UTF-8 becomes U+FFFD later, as in outcomes.
// Threads   One.
// Lifetime  That of a run.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.h"

namespace caisson::rest {

class OutputText {
 public:
  // Returns the new text of that stream that can be shown now.
  std::string Take(OutputStream stream, std::string_view bytes) {
    std::string& held = stream == OutputStream::kStdout ? stdout_ : stderr_;
    std::string text = std::exchange(held, {}).append(bytes);
    held = text.substr(text.size() - UnfinishedBytes(text));
    text.resize(text.size() - held.size());
    return text;
  }

 private:
  // Returns the number of bytes at the end that belong to an incomplete character.
  static std::size_t UnfinishedBytes(std::string_view text) {
    for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
      const auto byte = static_cast<unsigned char>(text[text.size() - back]);
      if (byte < 0x80) return 0;
      if (byte < 0xc0) continue;
      const std::size_t size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return back < size ? back : 0;
    }
    return 0;
  }

  std::string stdout_;
  std::string stderr_;
};

}  // namespace caisson::rest
