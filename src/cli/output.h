// An Output is the program's stdout or stderr: unbuffered, and careful with whom it writes to.
//
// Trust     WriteGuest takes hostile text: on a terminal its control characters are spelled out,
//           into a file or pipe it goes unchanged.
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

  // Our own words.
  void Write(std::string_view text);
  // The guest's words.
  void WriteGuest(std::string_view text);
  // The guest says no more: shows what was kept of an unfinished character.
  void FinishGuest();
  // As FinishGuest, and ends the line if one is unfinished: for who wants to begin one.
  void FinishLine();

  bool is_terminal() const { return terminal_; }
  // Why nothing more can be written (an errno); 0 while it can. After a failure writes do nothing.
  int failed() const { return failed_; }

 private:
  explicit Output(int fd);

  int fd_;
  bool terminal_;
  bool line_open_ = false;
  int failed_ = 0;
  TerminalText terminal_text_;
};

// Makes sure that descriptors 0 to 2 are taken: one that was closed by our parent would otherwise
// be given to the next file or socket we open, and output would go there. Ignores SIGPIPE, so that
// a reader who leaves is an error of a write.
void PrepareStandardStreams();

}  // namespace caisson::cli
