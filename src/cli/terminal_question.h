// A TerminalQuestion asks the person at the terminal whether a call of one run may be made.
//
// Trust     Arguments are the guest's: shown as approval/presentation.h does, so that they cannot
//           forge the question. Only "y" or "yes" is a yes. The terminal is opened by its own name:
//           code and answers of a script come through stdin and are nobody's consent.
// Threads   Ask() blocks its thread, so that nothing else is written meanwhile. GiveUp() from any.
// Lifetime  For one run: what was given up stays so.
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

  // Whether there is anybody to ask.
  static bool IsPossible();

  // Returns what the person answers; a denial if there is no terminal; nullopt after GiveUp().
  std::optional<Answer> Ask(const StoredApproval& approval) const;

  // For the one who cancels the run: an open question is left without an answer, and later ones are
  // not asked.
  void GiveUp();

 private:
  explicit TerminalQuestion(UniqueFd given_up) : given_up_(std::move(given_up)) {}

  UniqueFd given_up_;  // eventfd; never read, so that it says so to every question.
};

}  // namespace caisson::cli
