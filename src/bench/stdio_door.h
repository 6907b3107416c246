// Measures `caisson mcp` as an MCP client sees it: execute_code over its stdin and stdout.
//
// Trust     Every answer is checked.
// Threads   Blocks.
// Lifetime  The server ends before the call returns.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bench/samples.h"
#include "bench/server_process.h"

namespace caisson::bench {

struct StdioPlan {
  ServerPlan server;
  std::string code;
  std::int64_t result = 0;
  int warm_up_calls = 50;
  int calls = 0;
};

// Microseconds from the write of each request to the answer's end.
Result<Samples> StdioCalls(const StdioPlan& plan);

}  // namespace caisson::bench
