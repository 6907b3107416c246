// JudgeSignal tells what it means for a run that a signal which we did not send killed its process.
//
// Trust     Pure. The kernel reports the signal; the guest may have sent it to itself.
// Threads   Any.
// Lifetime  No state.
#pragma once

#include <chrono>

#include "engine/host/cell_protocol.h"

namespace caisson {

Verdict JudgeSignal(int signal, std::chrono::nanoseconds cpu_used,
                    std::chrono::nanoseconds cpu_limit);

}  // namespace caisson
