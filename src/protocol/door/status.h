// Maps errors to HTTP statuses, for doors whose errors are problems (RFC 9457).
//
// Trust     Messages of errors that the client can act on are sent; those of internal errors go to
//           the log.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include "base/error.h"
#include "base/result.h"
#include "net/http_message.h"

namespace caisson::door {

net::Response ToResponse(const Error& error);

// Fails with kInvalidArgument unless the Content-Type is JSON. A form of a web page cannot have
// that type.
Result<void> RequireJson(const net::Request& request);

}  // namespace caisson::door
