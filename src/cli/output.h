// An Output is the program's stdout or stderr, without a buffer. It escapes hostile text on a
// terminal.
//
// Trust     WriteGuest takes hostile text. A terminal receives its control characters spelled out;
//           a file or pipe receives the text unchanged.
// Threads   One thread. Writing may block.
// Lifetime  Borrows the standard descriptor.
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal_text.h"

namespace caisson::cli {

class Output {
 public:
  static Output Stdout();
  static Output Stderr();

  // Writes our own text.
  void Write(std::string_view text);
  // Writes the guest's text.
  void WriteGuest(std::string_view text);
  // Call at the end of the guest's text. Writes the bytes of an unfinished character.
  void FinishGuest();
  // Same as FinishGuest, and also ends an unfinished line, so that the next text begins a line.
  void FinishLine();

  bool is_terminal() const { return terminal_; }
  // Returns the errno of the first failed write; 0: none failed. After a failure, writes do
  // nothing.
  int failed() const { return failed_; }

 private:
  explicit Output(int fd);

  int fd_;
  bool terminal_;
  bool line_open_ = false;
  int failed_ = 0;
  TerminalText terminal_text_;
};

// Opens /dev/null for those of descriptors 0 to 2 that our parent closed. Otherwise the next file
// or socket that we open would get that number, and output would go there. Ignores SIGPIPE, so that
// writing to a closed pipe returns an error.
void PrepareStandardStreams();

}  // namespace caisson::cli
