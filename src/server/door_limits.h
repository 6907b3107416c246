// Computes the limits of the HTTP door from the configuration and from the process's limit of open
// files.
//
// Trust     The configuration comes from the operator.
// Threads   Call before the server starts: it changes the limit of open files of the whole process.
// Lifetime  Keeps nothing.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "net/connection_table.h"

namespace caisson {

// Raises the process's limit of open files as far as the connections need it. Fails with
// kInvalidArgument if the configuration asks for more connections than the machine allows, or if a
// proxy is not an address.
Result<net::ConnectionLimits> DoorLimits(const Config& config);

}  // namespace caisson
