// UnreadAnswers says how much of what a cell was answered is still in the host, because its code
// does not read it, or not fast enough. Cells of real engines implement it beside Cell.
//
//   const auto* unread = dynamic_cast<const UnreadAnswers*>(&cell);
//   if (unread != nullptr && unread->unread_answer_bytes() > kMany) // wait before the next answer
//
// Trust     The code decides how fast the number falls.
// Threads   Any.
// Lifetime  That of the cell.
#pragma once

#include <cstddef>

namespace caisson {

class UnreadAnswers {
 public:
  virtual std::size_t unread_answer_bytes() const = 0;

 protected:
  ~UnreadAnswers() = default;
};

}  // namespace caisson
