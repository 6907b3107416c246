// The sweeper removes the files of native cells in tier landlock if the host is killed before it
// can. The host starts it with caisson-forkserver --sweep=PATH.
//
// Trust     Has the host's rights. Runs no code of others and reads no byte that a cell wrote.
// Threads   A process of its own, single-threaded.
// Lifetime  Waits for the end of the host, removes, and exits. The host kills it when it has
//           removed the files itself.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::forkserver {

// `path`: absolute. `host`: the pidfd of the host. Returns when the directory is gone.
Result<void> Sweep(const std::string& path, const UniqueFd& host);

}  // namespace caisson::forkserver
