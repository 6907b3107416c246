// A RequestState is what a modern client carries for us while a person thinks: which run waits, for which approvals.
// The server keeps nothing; the client brings the state back with the answers.
//
//   std::string carried = *states.Seal(owner, purpose, {.run = id, .approvals = ids});
//   auto state = states.Open(owner, purpose, carried);
//
// Trust     The client is hostile. What it brings back is sealed with a key of the host's, bound to its owner and to
//           the call it was given for, and good for a time: anything else is refused, and not told apart.
//           That it is used once is up to the approvals it names: each is decided once (I5).
// Threads   Immutable.
// Lifetime  The ring outlives it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "approval/key_ring.h"
#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"
#include "store/ids.h"
#include "wire/value.h"

namespace caisson::mcp {

struct RequestState {
  RunId run;
  std::vector<ApprovalId> approvals{};
};

// The call that a state was given for.
struct StatePurpose {
  std::string tool;
  Dict arguments{};
};

class RequestStates {
 public:
  RequestStates(const KeyRing& keys, const Clock& clock) : keys_(keys), clock_(clock) {}

  Result<std::string> Seal(const IsolationKey& owner, const StatePurpose& purpose,
                           const RequestState& state) const;
  // kInvalidArgument: changed, too old, or of another owner or call.
  Result<RequestState> Open(const IsolationKey& owner, const StatePurpose& purpose,
                            std::string_view carried) const;

 private:
  const KeyRing& keys_;
  const Clock& clock_;
};

}  // namespace caisson::mcp
