// CaptureFiles reads what a run left in its /output.
//
// Trust     The tree was written by an attacker. It is called when every process that could write to it
//           is dead, and goes down from a directory descriptor, never through a link, a mount or
//           anything that is no directory or regular file (I11).
// Threads   Any; reads from memory (a tmpfs), so it does not block for long.
// Lifetime  No state.
#pragma once

#include <vector>

#include "base/unique_fd.h"
#include "engine/outcome.h"
#include "wire/frames.h"

namespace caisson {

// The regular files below "output" in `root`, in path order, within the limits of `start`: a file that
// is too big, or one too many, is there without its contents; there is one of the latter at most.
std::vector<OutcomeFile> CaptureFiles(const UniqueFd& root, const wire::StartHeader& start);

}  // namespace caisson
