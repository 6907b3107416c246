// Maps errors to HTTP statuses; the only place that does.
//
// Trust     Messages of errors that the client can act on are sent; those of internal errors go to
//           the log.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include "base/error.h"
#include "net/http_message.h"

namespace caisson::rest {

net::Response ToResponse(const Error& error);

}  // namespace caisson::rest
