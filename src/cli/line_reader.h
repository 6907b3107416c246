// A LineReader reads stdin line by line. Another thread can wake it while it waits.
//
// Trust     Lines come from the user. A line that is too long to be typed ends the input.
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

  // Returns the next line with its line feed (the last line may have none), or the reason why there
  // is none.
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
