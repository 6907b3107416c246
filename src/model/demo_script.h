// WriteDemoReply writes the reply of a DemoModel to a request.
//
// Trust     The request is data. It is searched for keywords and quoted.
// Threads   Pure functions.
// Lifetime  Keep nothing.
#pragma once

#include <chrono>

#include "base/result.h"
#include "model/model.h"

namespace caisson::model {

struct DemoReply {
  ModelReply reply{};
  std::chrono::milliseconds pause{0};  // Between two pieces.
};

// Fails if the message asks for a failure.
Result<DemoReply> WriteDemoReply(const ModelRequest& request);

}  // namespace caisson::model
