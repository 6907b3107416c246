// JudgeSignal says what it means for a run that its process was killed by a signal that we did not send.
//
// Trust     Pure. The signal is the kernel's word; the guest may have sent it to itself.
// Threads   Any.
// Lifetime  No state.
#pragma once

#include <chrono>

#include "engine/session/cell_session.h"

namespace caisson {

Verdict JudgeSignal(int signal, std::chrono::nanoseconds cpu_used,
                    std::chrono::nanoseconds cpu_limit);

}  // namespace caisson
