// TerminalText makes hostile text safe to show. A terminal obeys control characters, so code that
// prints them could change window titles, forge earlier lines, or type answers for the user.
//
// Trust     Input comes from the guest. The output has only printable characters, '\n' and '\t'.
//           Everything else is spelled out (\x1b), and so are bytes that are not UTF-8.
// Threads   One stream, one thread.
// Lifetime  Keeps an unfinished character between two pieces of a stream.
#pragma once

#include <string>
#include <string_view>

namespace caisson::cli {

class TerminalText {
 public:
  // Returns the text for `bytes`, after the bytes that were kept earlier. Keeps an unfinished
  // character.
  std::string Escape(std::string_view bytes);
  // Returns the text for the kept bytes. Call it at the end of the stream.
  std::string Finish();

 private:
  std::string kept_;
};

}  // namespace caisson::cli
