// A ProgramStarter is a small process that creates the processes of programs (minder.h) for the
// host.
//
// Creating a process copies the address space of its creator. While the kernel copies the host's,
// each lane and event loop that maps memory or touches a new page waits, also while the thread that
// copies is waiting for a core. So a run that calls a thousand commands would delay all others. The
// starter is copied instead. The processes that it creates are children of the host, as if the host
// had created them.
//
// Trust     A copy of the host as it was when the starter was made, without its descriptors. It
//           reads only what the host sends.
// Threads   Start() from any thread; calls wait for each other.
// Lifetime  Owned. The destructor ends the starter; programs that it has started continue. It also
//           ends when the host dies.
#pragma once

#include <sys/types.h>

#include <memory>
#include <utility>

#include "base/guarded.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/minder.h"

namespace caisson::jail {

struct StartedMinder {
  pid_t pid = -1;
  UniqueFd pidfd{};
};

// Creates the minder as a copy of this process.
Result<StartedMinder> StartMinder(const MinderPlan& plan);

class ProgramStarter {
 public:
  // `nice` is added to the niceness of this process, for all programs. Make the starter early,
  // while the host is small.
  static Result<std::unique_ptr<ProgramStarter>> Make(int nice);
  ProgramStarter(const ProgramStarter&) = delete;
  ProgramStarter& operator=(const ProgramStarter&) = delete;
  ~ProgramStarter();

  // Creates the minder. If the starter is lost, creates it as StartMinder does.
  Result<StartedMinder> Start(const MinderPlan& plan);

 private:
  ProgramStarter(UniqueFd socket, StartedMinder process)
      : socket_(std::move(socket)), process_(std::move(process)) {}

  Guarded<UniqueFd> socket_;
  const StartedMinder process_;
};

}  // namespace caisson::jail
