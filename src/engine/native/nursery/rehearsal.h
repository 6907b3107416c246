// A rehearsal is a run of ours, the whole way a real one goes: read from a socket, run, reported. What it leaves
// behind is memory already copied and code already mapped, which the run that counts need not wait for.
//
// Trust     Runs nothing but our own three words of Python.
// Threads   One.
// Lifetime  Leaves the holder as it found it, without a socket.
#pragma once

#include "base/result.h"
#include "engine/native/nursery/holder.h"

namespace caisson::nursery {

Result<void> Rehearse(Holder& holder);

}  // namespace caisson::nursery
