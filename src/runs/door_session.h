// The session that a run belongs to, as the door knows it that somebody came through: who they are and how they came.
//
//   const CallerContext ann = RemoteSession(host, identity, "rest");
//   runs.Start(owner, {.code = code, .context = ForRequest(ann, {.message_id = "m7"})});
//
// Trust     Identities were resolved (I2). What a request says of itself is data; what no environment could hold of it is
//           left out, so that it spoils nobody's call.
// Threads   Pure functions.
// Lifetime  The host outlives the contexts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "caller/caller_context.h"
#include "identity/identity.h"

namespace caisson {

// Somebody whom a request named. `door` is what it is called in CAISSON_SESSION_PLATFORM: "rest", "mcp".
CallerContext RemoteSession(CallerHost& host, const Identity& identity, std::string_view door);

// Whoever started this program, in the session that they started it in, if it was one; what that one does not say, the
// door does.
CallerContext LocalSession(CallerHost& host, std::string_view door);

struct RequestNames {
  std::string message_id{};  // As the client calls its request.
  std::string session{};     // The stateful session that it is for.
};
// The same for one request of theirs.
std::shared_ptr<const CallerContext> ForRequest(const CallerContext& session, RequestNames names);

}  // namespace caisson
