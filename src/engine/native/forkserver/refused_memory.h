// Whether the kernel has refused memory to this process: to the interpreter, to any library, or to
// the loader.
//
// Libraries that get no memory do not always say so: some crash, others raise an error of another
// name. With this, the end of such a run is told as what it is.
//
// Trust     Memory of the cell, which hostile code can change. It then harms the report of its own
//           run only.
// Threads   Any.
// Lifetime  One flag for a process; a forked process starts with a copy.
#pragma once

namespace caisson::forkserver {

void ForgetRefusedMemory();
// Returns true if memory was refused since then.
bool WasMemoryRefused();
// Returns true if memory was refused since then or would be now. May be called in a signal handler.
bool IsMemoryShort();

}  // namespace caisson::forkserver
