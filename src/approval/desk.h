// The ApprovalDesk is where calls are brought, people are asked, and answers are given.
//
//   auto ruling = co_await desk.Judge(owner, call);              // free, granted, or somebody must be asked
//   auto asked = co_await desk.Ask(owner, ruling->question);     // once, however often it is called
//   ...                                                          // from any door, in any process:
//   co_await desk.Decide(owner, id, {.verdict = ApprovalState::kApproved, .by = "ann"});
//
// An answer is to one call, or, if the answer says so, also to later ones (a grant): in the same session or always, with
// the same arguments, with some, or with any. Nobody answers: the question expires, and that is a no.
//
// Trust     Calls are the guest's, ids are clients'; what belongs to another owner is not there (I4).
// Threads   Any executor.
// Lifetime  Store, notifier and clock outlive it and the calls under way.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "approval/binding.h"
#include "approval/decision_notifier.h"
#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/store.h"
#include "tools/tool.h"
#include "wire/value.h"

namespace caisson {

struct DeskOptions {
  std::chrono::seconds expire = std::chrono::hours(24 * 7);
  std::uint32_t max_pending = 10'000;  // Of one owner.
};

struct CallToJudge {
  CallPlace place;
  std::shared_ptr<const Tool> tool;
  std::shared_ptr<const CanonicalArguments> arguments{};
  bool needs_approval = true;  // As Tool::NeedsApproval has it, of these arguments.
  std::optional<CallSession> session{};
};

// All that is asked, journaled and hashed about a call.
struct Question {
  CallBinding binding;
  std::string arguments{};  // Canonical.
  std::optional<CallSession> session{};
};

struct Ruling {
  enum class Kind {
    kFree,     // Nobody needs to be asked.
    kGranted,  // Somebody has said yes to calls like this one; the audit log says so.
    kAsk,
  };
  Kind kind = Kind::kAsk;
  Question question;
  std::optional<GrantId> grant{};
};

// To which later calls of the same tool an answer extends.
struct StandingYes {
  enum class Scope { kSession, kAlways };
  enum class Arguments { kThese, kAny };
  Scope scope = Scope::kSession;
  Arguments arguments = Arguments::kThese;
  std::optional<Value> schema{};  // In place of `arguments`: those that fit this JSON Schema.
};

struct Answer {
  ApprovalState verdict = ApprovalState::kDenied;  // kApproved, kDenied or kCancelled.
  std::string by{};
  std::string reason{};
  std::optional<StandingYes> standing{};  // With kApproved only.
};

class ApprovalDesk {
 public:
  ApprovalDesk(Store& store, DecisionNotifier& notifier, const Clock& clock, DeskOptions options = {})
      : store_(store), notifier_(notifier), clock_(clock), options_(options) {}

  // kInvalidArgument: the arguments cannot be shown to anybody, or the tool's definition cannot be hashed.
  asio::awaitable<Result<Ruling>> Judge(IsolationKey owner, CallToJudge call);

  // The approval of this call, made if it is not there yet; it may be decided already. kResourceExhausted: too many
  // questions of this owner are open. kFailedPrecondition: the call was asked about with something else in it.
  asio::awaitable<Result<StoredApproval>> Ask(IsolationKey owner, Question question);

  // As ApprovalStore::Decide, and wakes who waits. kInvalidArgument: the answer makes no sense. What is not the text
  // that was hashed cannot be approved (kFailedPrecondition).
  asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id, Answer answer);

  asio::awaitable<Result<std::vector<Grant>>> Grants(IsolationKey owner);
  asio::awaitable<Result<void>> Revoke(IsolationKey owner, GrantId id, std::string by);

  // Ends the questions whose time is over, of all owners, and wakes who waits. Says how many.
  asio::awaitable<Result<std::size_t>> ExpireDue();

 private:
  asio::awaitable<Result<std::optional<GrantId>>> FindGrant(IsolationKey owner,
                                                            const Question& question);
  asio::awaitable<Result<void>> AddGrant(IsolationKey owner, const NewApproval& asked,
                                         const Answer& answer);

  Store& store_;
  DecisionNotifier& notifier_;
  const Clock& clock_;
  const DeskOptions options_;
};

// Of the one approval a call can have; sorts as its run does.
ApprovalId ApprovalIdOf(const RunId& run, std::uint32_t seq);

}  // namespace caisson
