// Which error is which HTTP status: the one place that decides it.
//
// Trust     Messages of errors that the client can do something about are told; those of ours go to the log.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include "base/error.h"
#include "net/message.h"

namespace caisson::rest {

net::Response ToResponse(const Error& error);

}  // namespace caisson::rest
