// Makes the CallerContext of a run from the facts that its door knows: the identity, the door and
// the names of the request.
//
//   const CallerContext ann = RemoteCaller(host, identity, "rest");
//   runs.Start(owner, {.code = code, .caller = ForRequest(ann, {.message_id = "m7"})});
//
// Trust     Identities are resolved (I2). Names in a request are data. A name that no environment
//           can hold is left out, so that calls do not fail because of it.
// Threads   Pure functions.
// Lifetime  The host outlives the contexts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "caller/caller_context.h"
#include "identity/identity.h"

namespace caisson {

// Returns the caller with the identity of a request. `door` is the value of
// CAISSON_SESSION_PLATFORM: "rest", "mcp".
CallerContext RemoteCaller(CallerHost& host, const Identity& identity, std::string_view door);

// Returns the caller that started this program. Its variables are those of the environment; the
// door sets the missing ones.
CallerContext LocalCaller(CallerHost& host, std::string_view door);

struct RequestNames {
  std::string message_id{};  // The client's id of its request.
  std::string session{};     // Its stateful session.
};
// Returns a copy for one request of this caller.
std::shared_ptr<const CallerContext> ForRequest(const CallerContext& session, RequestNames names);

}  // namespace caisson
