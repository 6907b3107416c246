// The tools, prompts and resources that MCP's conformance suite expects of a server under test:
// `test_*`, with fixed texts. They only show that the server implements the protocol.
//
// Trust     For tests: only the program fixture_server offers them.
// Threads   Same as Features.
// Lifetime  The keys outlive the features.
#pragma once

#include "approval/key_ring.h"
#include "protocol/mcp/features.h"

namespace caisson::mcp {

// Adds them to the features of a server; replaces its resources.
void AddConformanceFixtures(const KeyRing& keys, Features& features);

}  // namespace caisson::mcp
