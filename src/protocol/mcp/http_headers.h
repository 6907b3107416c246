// Checks that the headers of a modern request match its body. Proxies that do not read bodies use
// these headers.
//
// Trust     Both are the client's. If they differ, a proxy may have been deceived, so the request
//           is refused.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <optional>
#include <variant>

#include "net/headers.h"
#include "protocol/mcp/mcp_caller.h"
#include "protocol/mcp/mcp_message.h"

namespace caisson::mcp {

// Returns true if the _meta or the version header of a message names the modern era.
bool IsModern(const Dict& params, const net::Headers& headers);

// Returns the caller of a modern request, or the error in its statements about itself.
std::variant<Caller, RpcError> CheckedCaller(const Request& request, const net::Headers& headers,
                                             const Principal& principal);

}  // namespace caisson::mcp
