// A rehearsal is a run of our own that goes the whole way of a real one: read from a socket,
// executed, reported. Afterwards the memory is copied and the code is mapped, so that the real run
// need not wait for that.
//
// Trust     Runs only our own three words of Python.
// Threads   One.
// Lifetime  Leaves the holder as it was, without a socket.
#pragma once

#include "base/result.h"
#include "engine/native/forkserver/holder.h"

namespace caisson::forkserver {

Result<void> Rehearse(Holder& holder);

}  // namespace caisson::forkserver
