// The demo: a scripted model, an agent and two tools, with which every door can be tried without a
// model server and without a key.
//
//   weather(city)                     answers with made-up weather
//   send_email(to, subject, body)     needs an approval; sends nothing
//
// Trust     The tools have no effect outside of this process.
// Threads   Call at start-up.
// Lifetime  Keeps nothing.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "tools/tool.h"

namespace caisson {

inline constexpr std::string_view kDemo = "demo";  // The name of the model and of the agent.

// Adds the model and the agent. Without a configured store, everything stays in memory. Fails with
// kInvalidArgument if the configuration has something of the same name.
Result<void> AddDemo(Config& config);

Result<std::vector<std::shared_ptr<const Tool>>> DemoTools();

}  // namespace caisson
