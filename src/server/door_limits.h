// The limits of the HTTP door, from the configuration and from what this process may open.
//
// Trust     The configuration is the operator's.
// Threads   Before the server starts: the limit of open files is the process's own.
// Lifetime  Nothing is kept.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "net/connection_table.h"

namespace caisson {

// Raises the process's limit of open files as far as the connections need it. kInvalidArgument if the configuration
// asks for more connections than the machine allows, or names a proxy that is no address.
Result<net::ConnectionLimits> DoorLimits(const Config& config);

}  // namespace caisson
