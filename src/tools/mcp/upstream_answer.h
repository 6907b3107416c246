// What a server's answer to tools/call is to the code that called.
//
// Trust     The answer is the server's: any JSON object.
// Threads   A pure function.
// Lifetime  A value.
#pragma once

#include "engine/engine.h"
#include "wire/value.h"

namespace caisson {

// Structured content as it is, text as str, data as bytes; several blocks as a list, none as None.
ToolAnswer AnswerOf(const Dict& result);

}  // namespace caisson
