// A TerminalQuestion asks the person at the terminal whether a call of one run may be made.
//
// Trust     Arguments are the guest's: shown as approval/presentation.h does, so that they cannot
//           forge the question. Only "y" or "yes" is a yes. The terminal is opened by its own name:
//           code and answers of a script come through stdin and are nobody's consent.
// Threads   The question blocks the thread of the gate's executor, so that nothing else is written
//           meanwhile. GiveUp() from any.
// Lifetime  For one run: what was given up stays so. Outlives its gates, and their executors the
//           calls.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "tools/bridge.h"

namespace caisson::cli {

class TerminalQuestion {
 public:
  static Result<TerminalQuestion> Make();

  // Whether there is anybody to ask.
  static bool IsPossible();

  ToolGate Gate(asio::any_io_executor executor);

  // For who cancels the run: a question that is open is left without an answer, and so is its call.
  // Later ones are not asked.
  void GiveUp();

 private:
  explicit TerminalQuestion(UniqueFd given_up) : given_up_(std::move(given_up)) {}

  UniqueFd given_up_;  // eventfd; never read, so that it says so to every question.
};

}  // namespace caisson::cli
