// The tools, prompts and resources that MCP's conformance suite expects of a server under test: `test_*`, with
// the texts it looks for. They show that the protocol is spoken, and are of no other use.
//
// Trust     For tests: offered only by a server that was started with --conformance-fixtures.
// Threads   As Features.
// Lifetime  The keys outlive the features.
#pragma once

#include "approval/key_ring.h"
#include "protocol/mcp/features.h"

namespace caisson::mcp {

// Adds them to what a server offers; its resources are replaced.
void AddConformanceFixtures(const KeyRing& keys, Features& features);

}  // namespace caisson::mcp
