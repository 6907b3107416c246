// The ApprovalStore keeps the approvals and their decisions.
//
//   pending ──> approved ──> consumed
//           └─> denied | expired | cancelled
//
// Consumed means that the call was started (RunStore::StartCall); the same approval cannot start it
// again.
//
// A decision is stored once. Each decision, and each grant given or revoked, is an entry of the
// audit log, written in the same transaction.
//
// Trust     Ids come from outside; those of other owners are not found (I4).
// Threads   Same as RunStore.
// Lifetime  Same as RunStore.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/edited_arguments.h"
#include "store/ids.h"
#include "store/page.h"

namespace caisson {

namespace asio = boost::asio;

enum class ApprovalState { kPending, kApproved, kDenied, kExpired, kCancelled, kConsumed };
std::string_view ToString(ApprovalState state);
inline constexpr std::array kApprovalStates = {ApprovalState::kPending,   ApprovalState::kApproved,
                                               ApprovalState::kDenied,    ApprovalState::kExpired,
                                               ApprovalState::kCancelled, ApprovalState::kConsumed};

// The call to which an approval is bound, besides its owner (I5).
struct CallBinding {
  RunId run;
  std::uint32_t seq = 0;
  std::string tool{};
  std::string tool_digest{};
  std::string arguments_digest{};
  std::string code_digest{};
  bool operator==(const CallBinding&) const = default;
};

// The stateful session of a call. Names are reused after a session has ended; ids are not.
struct CallSession {
  std::string name;
  SessionId id;  // Empty: written by a version that did not store ids; that session has ended.
  bool operator==(const CallSession&) const = default;
};

struct NewApproval {
  ApprovalId id;
  CallBinding binding;
  std::string arguments{};  // The canonical JSON that was hashed and is shown.
  SystemTime created_at{};
  SystemTime expires_at{};
  std::optional<CallSession> session{};  // nullopt: the run is in no session.
};

struct Decision {
  ApprovalState verdict = ApprovalState::kDenied;  // kApproved, kDenied or kCancelled.
  std::string by{};
  std::string reason{};
  SystemTime at{};
  // With kApproved only: the call is executed with these.
  std::optional<EditedArguments> edited{};
};

struct StoredApproval {
  NewApproval asked;
  ApprovalState state = ApprovalState::kPending;
  std::optional<Decision> decision{};  // Who, when and why; for an expired approval, when.
  // A list left out the arguments. Find has them.
  bool arguments_omitted = false;
};

// Bounds of the arguments in one page of a list, so that a page cannot fill the host's memory: of
// one approval, and of all of them.
inline constexpr std::size_t kMaxListedArgumentBytes = 64u << 10;
inline constexpr std::size_t kMaxListedPageBytes = 1u << 20;

// A standing approval for calls of one tool whose arguments match a pattern.
struct Grant {
  GrantId id;
  std::string tool{};
  std::string pattern{};  // Opaque here.
  std::string scope{};    // "session" or "always".
  std::string granted_by{};
  SystemTime granted_at{};
};

class ApprovalStore {
 public:
  virtual ~ApprovalStore() = default;

  // Creates the one approval of a call. Fails with kResourceExhausted beyond `max_pending` of this
  // owner.
  virtual asio::awaitable<Result<void>> Create(IsolationKey owner, NewApproval approval,
                                               std::uint32_t max_pending) = 0;
  virtual asio::awaitable<Result<StoredApproval>> Find(IsolationKey owner, ApprovalId id) = 0;
  // Long arguments are omitted (StoredApproval::arguments_omitted).
  virtual asio::awaitable<Result<Page<StoredApproval>>> List(IsolationKey owner,
                                                             std::optional<ApprovalState> state,
                                                             PageQuery query) = 0;
  // The first decision counts. Repeating the same verdict with the same edited arguments succeeds
  // and changes nothing. A different one, or one after expiry, fails with kFailedPrecondition.
  // Returns the stored approval.
  virtual asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id,
                                                         Decision decision) = 0;

  virtual asio::awaitable<Result<void>> AddGrant(IsolationKey owner, Grant grant) = 0;
  // Returns the valid grants, of one tool or of all.
  virtual asio::awaitable<Result<std::vector<Grant>>> ListGrants(
      IsolationKey owner, std::optional<std::string> tool) = 0;
  virtual asio::awaitable<Result<void>> RevokeGrant(IsolationKey owner, GrantId id, std::string by,
                                                    SystemTime at) = 0;
};

}  // namespace caisson
