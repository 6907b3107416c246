// TerminalGate asks the person at the terminal whether a call may be made.
//
// Trust     Arguments are the guest's: shown as approval/presentation.h does, so that they cannot forge
//           the question. Only "y" or "yes" is a yes. The terminal is opened by its own name: code and answers of
//           a script come through stdin and are nobody's consent.
// Threads   The question blocks the thread of `executor`.
// Lifetime  `executor` outlives the calls.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include "tools/bridge.h"

namespace caisson::cli {

ToolGate TerminalGate(asio::any_io_executor executor);

}  // namespace caisson::cli
