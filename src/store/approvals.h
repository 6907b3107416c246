// The ApprovalStore keeps what people were asked and what they said.
//
//   pending ──> approved ──> consumed
//           └─> denied | expired | cancelled
//
// Consumed means that the call was started (RunStore::StartCall); the same approval cannot start it again.
//
// A decision is stored once. Each one, and each grant given or revoked, is an entry of the audit log, written in
// the same transaction.
//
// Trust     Ids come from outside; those of others are not found (I4).
// Threads   As RunStore.
// Lifetime  As RunStore.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/ids.h"
#include "store/page.h"

namespace caisson {

namespace asio = boost::asio;

enum class ApprovalState { kPending, kApproved, kDenied, kExpired, kCancelled, kConsumed };
std::string_view ToString(ApprovalState state);
inline constexpr std::array kApprovalStates = {ApprovalState::kPending,   ApprovalState::kApproved,
                                               ApprovalState::kDenied,    ApprovalState::kExpired,
                                               ApprovalState::kCancelled, ApprovalState::kConsumed};

// What an approval is bound to, besides its owner (I5).
struct CallBinding {
  RunId run;
  std::uint32_t seq = 0;
  std::string tool{};
  std::string tool_digest{};
  std::string arguments_digest{};
  std::string code_digest{};
  bool operator==(const CallBinding&) const = default;
};

// The stateful session that a call is made in. Names are used again after a session has ended, ids are not.
struct CallSession {
  std::string name;
  SessionId id;  // Empty: written by a version that did not store ids. Such a session has ended.
  bool operator==(const CallSession&) const = default;
};

struct NewApproval {
  ApprovalId id;
  CallBinding binding;
  std::string arguments{};  // What is shown: the canonical JSON that was hashed.
  SystemTime created_at{};
  SystemTime expires_at{};
  std::optional<CallSession> session{};  // Nothing: the run is in no session.
};

struct Decision {
  ApprovalState verdict = ApprovalState::kDenied;  // kApproved, kDenied or kCancelled.
  std::string by{};
  std::string reason{};
  SystemTime at{};
};

struct StoredApproval {
  NewApproval asked;
  ApprovalState state = ApprovalState::kPending;
  std::optional<Decision> decision{};  // Who, when and why; of one that expired, when.
};

// A standing yes: to calls of one tool whose arguments match a pattern.
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

  // One per call of a run. kResourceExhausted beyond `max_pending` of this owner.
  virtual asio::awaitable<Result<void>> Create(IsolationKey owner, NewApproval approval,
                                               std::uint32_t max_pending) = 0;
  virtual asio::awaitable<Result<StoredApproval>> Find(IsolationKey owner, ApprovalId id) = 0;
  virtual asio::awaitable<Result<Page<StoredApproval>>> List(IsolationKey owner,
                                                             std::optional<ApprovalState> state,
                                                             PageQuery query) = 0;
  // Whoever comes first decides. The same verdict again is no error and changes nothing; another one, or one
  // after expiry, is kFailedPrecondition. Returns what is stored then.
  virtual asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id,
                                                         Decision decision) = 0;

  virtual asio::awaitable<Result<void>> AddGrant(IsolationKey owner, Grant grant) = 0;
  // Those that hold, of one tool or of all.
  virtual asio::awaitable<Result<std::vector<Grant>>> ListGrants(
      IsolationKey owner, std::optional<std::string> tool) = 0;
  virtual asio::awaitable<Result<void>> RevokeGrant(IsolationKey owner, GrantId id, std::string by,
                                                    SystemTime at) = 0;
};

}  // namespace caisson
