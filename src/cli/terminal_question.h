// A TerminalQuestion asks the person at the terminal whether a call of one run may be made.
//
// Trust     Arguments come from the guest. They are shown as in approval/presentation.h, so that
//           they cannot forge the question. Only "y" or "yes" approves. The terminal is opened by
//           its own name, because stdin may carry code or a script's answers, which are not a
//           person's consent.
// Threads   Ask() blocks its thread, so that nothing else is written meanwhile. GiveUp() from any
//           thread.
// Lifetime  Serves one run: after GiveUp() it asks nothing more.
#pragma once

#include <optional>
#include <utility>

#include "approval/desk.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::cli {

class TerminalQuestion {
 public:
  static Result<TerminalQuestion> Make();

  // Returns whether there is a terminal to ask at.
  static bool IsPossible();

  // Returns what the person answers; a denial if there is no terminal; nullopt after GiveUp().
  std::optional<Answer> Ask(const StoredApproval& approval) const;

  // Call it to cancel the run. An open question stays without an answer. Later questions are not
  // asked.
  void GiveUp();

 private:
  explicit TerminalQuestion(UniqueFd given_up) : given_up_(std::move(given_up)) {}

  UniqueFd given_up_;  // eventfd; never read, so that every question sees it.
};

}  // namespace caisson::cli
