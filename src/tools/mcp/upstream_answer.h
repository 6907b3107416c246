// Converts a server's answer to tools/call for the calling code.
//
// Trust     The answer is the server's: any JSON object.
// Threads   A pure function.
// Lifetime  A value.
#pragma once

#include "engine/engine.h"
#include "wire/value.h"

namespace caisson {

// Structured content stays as it is, text becomes str, data becomes bytes; several blocks become a
// list, none becomes None.
ToolAnswer AnswerOf(const Dict& result);

}  // namespace caisson
