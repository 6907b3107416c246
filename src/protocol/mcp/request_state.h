// A RequestState is state that a modern client keeps for the server while a person decides: the
// waiting run and its approvals. The server keeps nothing; the client returns the state with the
// answers.
//
//   std::string carried = *states.Seal(owner, purpose, {.run = id, .approvals = ids});
//   auto state = states.Open(owner, purpose, carried);
//
// Trust     The client is hostile. The state is sealed with a key of the host, bound to its owner
//           and to its call, and expires. Anything else is refused with the same error. Single use
//           follows from the approvals that it names: each is decided once (I5).
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

// The call for which a state was made.
struct StatePurpose {
  std::string tool;
  Dict arguments{};
};

class RequestStates {
 public:
  RequestStates(const KeyRing& keys, const Clock& clock) : keys_(keys), clock_(clock) {}

  Result<std::string> Seal(const IsolationKey& owner, const StatePurpose& purpose,
                           const RequestState& state) const;
  // Fails with kInvalidArgument if the state was changed, is too old, or belongs to another owner
  // or call.
  Result<RequestState> Open(const IsolationKey& owner, const StatePurpose& purpose,
                            std::string_view carried) const;

 private:
  const KeyRing& keys_;
  const Clock& clock_;
};

}  // namespace caisson::mcp
