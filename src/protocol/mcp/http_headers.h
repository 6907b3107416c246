// What a modern request says in its headers about its body, for those between client and server who do not read
// bodies; and that both say the same.
//
// Trust     Both are the client's. Where they differ, somebody in between was to be deceived: the request is refused.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <optional>
#include <variant>

#include "net/headers.h"
#include "protocol/mcp/caller.h"
#include "protocol/mcp/message.h"

namespace caisson::mcp {

// Whether a message is of the modern era: its _meta or its version header says so.
bool IsModern(const Dict& params, const net::Headers& headers);

// The caller of a modern request, or what is wrong with what it says of itself.
std::variant<Caller, RpcError> CheckedCaller(const Request& request, const net::Headers& headers,
                                             const Principal& principal);

}  // namespace caisson::mcp
