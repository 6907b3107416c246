// TerminalText makes hostile text harmless to show: a terminal obeys control characters, so code
// that prints them could retitle windows, forge lines above, or answer for the person who watches.
//
// Trust     Input is the guest's. Out come only printable characters, '\n' and '\t'; everything
//           else is spelled out (\x1b), and so is what is no UTF-8.
// Threads   One stream, one thread.
// Lifetime  Keeps the unfinished character between two pieces of a stream.
#pragma once

#include <string>
#include <string_view>

namespace caisson::cli {

class TerminalText {
 public:
  // What of `bytes`, together with what was kept from before, can be shown by now.
  std::string Escape(std::string_view bytes);
  // What is still kept: the stream ended within a character.
  std::string Finish();

 private:
  std::string kept_;
};

}  // namespace caisson::cli
