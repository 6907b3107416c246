// The ApprovalDesk judges calls, asks people, and records their answers.
//
//   auto ruling = co_await desk.Judge(owner, call);              // free, granted, or must be asked
//   auto asked = co_await desk.Ask(owner, ruling->question);     // creates one approval per call
//   ...                                                          // from any door, in any process:
//   co_await desk.Decide(owner, id, {.verdict = ApprovalState::kApproved, .by = "ann"});
//
// An answer applies to one call or, if it says so, also to later ones (a grant): in the same
// session or always, with the same arguments, with some, or with any. An approval without an answer
// expires, which counts as denied.
//
// Trust     Calls are the guest's, ids are clients'. Data of another owner is not found (I4).
// Threads   Any executor.
// Lifetime  Store, notifier and clock outlive it and its calls.
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
  std::uint32_t max_pending = 10'000;  // For one owner.
};

struct CallToJudge {
  CallPlace place;
  std::shared_ptr<const Tool> tool;
  std::shared_ptr<const CanonicalArguments> arguments{};
  bool needs_approval = true;  // The result of Tool::NeedsApproval for these arguments.
  std::optional<CallSession> session{};
};

// Everything that is asked, journaled and hashed about a call.
struct Question {
  CallBinding binding;
  std::string arguments{};  // Canonical.
  std::optional<CallSession> session{};
};

struct Ruling {
  enum class Kind {
    kFree,     // No approval is needed.
    kGranted,  // A grant covers this call; the audit log records it.
    kAsk,
  };
  Kind kind = Kind::kAsk;
  Question question;
  std::optional<GrantId> grant{};
};

// The later calls of the same tool to which an answer extends.
struct StandingYes {
  enum class Scope { kSession, kAlways };
  enum class Arguments { kThese, kAny };
  Scope scope = Scope::kSession;
  Arguments arguments = Arguments::kThese;
  std::optional<Value> schema{};  // Instead of `arguments`: those that match this JSON Schema.
};

struct Answer {
  ApprovalState verdict = ApprovalState::kDenied;  // kApproved, kDenied or kCancelled.
  std::string by{};
  std::string reason{};
  std::optional<StandingYes> standing{};  // With kApproved only.
  // Arguments that change (approval/edit.h). With kApproved only, and without `standing`.
  std::optional<Dict> changes{};
};

class ApprovalDesk {
 public:
  ApprovalDesk(Store& store, DecisionNotifier& notifier, const Clock& clock,
               DeskOptions options = {})
      : store_(store), notifier_(notifier), clock_(clock), options_(options) {}

  // Fails with kInvalidArgument if the arguments cannot be shown or the tool's definition cannot be
  // hashed.
  asio::awaitable<Result<Ruling>> Judge(IsolationKey owner, CallToJudge call);

  // Returns the approval of this call, which may already be decided; creates it if it does not
  // exist. Fails with kResourceExhausted if the owner has too many pending approvals,
  // kFailedPrecondition if this call was asked about with other contents.
  asio::awaitable<Result<StoredApproval>> Ask(IsolationKey owner, Question question);

  // Same as ApprovalStore::Decide, and wakes the waiters. `tool`: the one that was asked about, for
  // an answer with changes. Fails with kInvalidArgument if the answer is inconsistent or the tool
  // does not accept the changes, kFailedPrecondition if the text to approve is not the text that
  // was hashed, or there is no tool to check the changes with.
  asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id, Answer answer,
                                                 std::shared_ptr<const Tool> tool = nullptr);

  asio::awaitable<Result<std::vector<Grant>>> Grants(IsolationKey owner);
  asio::awaitable<Result<void>> Revoke(IsolationKey owner, GrantId id, std::string by);

  // Expires overdue approvals of all owners and wakes the waiters. Returns their number.
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

// Returns the id of the one approval that a call can have; it sorts like its run.
ApprovalId ApprovalIdOf(const RunId& run, std::uint32_t seq);

}  // namespace caisson
