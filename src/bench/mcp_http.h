// Measures the cost of MCP over HTTP beyond the run itself: a client with a persistent connection
// calls execute_code.
//
// Trust     A local server on a free port, with a store in memory.
// Threads   Blocks.
// Lifetime  Server and client are gone before the call returns.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/samples.h"

namespace caisson::bench {

// Microseconds from the request's first byte to the answer's last, minus the time of the run
// itself.
Result<Samples> McpHttpOverhead(const std::string& tier, const std::string& installation,
                                int calls);

}  // namespace caisson::bench
