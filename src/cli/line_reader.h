// A LineReader reads stdin line by line, and can be woken while it waits.
//
// Trust     Lines are the user's; one that is longer than anybody types ends the input.
// Threads   Read() on one thread, Wake() from any.
// Lifetime  Borrows stdin.
#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::cli {

class LineReader {
 public:
  enum class End { kOfInput, kWoken };

  static Result<LineReader> Make();

  // The next line with its line feed (the last may have none), or why there is none.
  std::variant<std::string, End> Read();
  void Wake();

 private:
  explicit LineReader(UniqueFd wake) : wake_(std::move(wake)) {}
  bool FillOrWoken();

  UniqueFd wake_;  // eventfd.
  std::string buffer_;
  bool at_end_ = false;
};

}  // namespace caisson::cli
