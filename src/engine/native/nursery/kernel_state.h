// What the kernel keeps for a process beside its memory, and code can have set: descriptors, signal handlers, timers, the
// working directory, the file mode mask. Written down in one cell, made true in another.
//
// Trust     In the cell that becomes another everything here is that one's word, and asks for nothing that code there
//           could not ask for itself.
// Threads   One.
// Lifetime  Lies in the scratch between the two.
#pragma once

#include "base/result.h"
#include "engine/native/nursery/stem.h"
#include "engine/native/nursery/survey.h"

namespace caisson::nursery {

// Before the survey, so that this tells what open files are called.
void ProbeOpenFiles(Scratch& scratch);

// After it. Fails, with a reason for people, if there is something open that cannot be opened again. Allocates only then.
Result<void> NoteKernelState(const Survey& survey, int socket, Scratch& scratch);

// In a process that has the standard descriptors and `socket` open, and nothing else.
Result<void> ApplyKernelState(const Scratch& scratch);

}  // namespace caisson::nursery
