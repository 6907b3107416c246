// What MCP over HTTP costs beyond the run itself: a client with a connection that it keeps, calling execute_code.
//
// Trust     Our own server on a free port of this machine, with a store in memory.
// Threads   Blocks.
// Lifetime  Server and client are gone before the call returns.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/samples.h"

namespace caisson::bench {

// Microseconds from the request's first byte to the answer's last, less what the run itself took.
Result<Samples> McpHttpOverhead(const std::string& tier, const std::string& installation,
                                int calls);

}  // namespace caisson::bench
