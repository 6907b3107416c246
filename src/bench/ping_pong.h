// Measures the machine's own cost of talking to another process on another core: one byte there and
// one byte back over two blocking pipes. Times at the doors are compared with it, because both
// change with the machine and its load.
//
// Trust     The other process is a copy of this one that only echoes.
// Threads   Blocks. Not beside other threads that fork.
// Lifetime  The other process ends before the call returns.
#pragma once

#include "base/result.h"
#include "bench/samples.h"

namespace caisson::bench {

// Microseconds of each round trip.
Result<Samples> PingPong(int round_trips);

}  // namespace caisson::bench
