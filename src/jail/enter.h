// Enter puts up the walls around the calling process, from inside, before it sees any hostile code.
//
// Trust     Privileged, and the last trusted step: after it returns, the process is assumed
//           hostile.
// Threads   The process must be single-threaded; Enter checks this.
// Lifetime  Cannot be undone. Open what you need first (/proc/self/pagemap, timers).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "jail/filter.h"
#include "jail/tier.h"

namespace caisson::jail {

struct EnterSpec {
  Tier tier = Tier::kNamespace;  // The tier that the process was spawned with.
  // All system calls that remain allowed; see WorkerSyscalls().
  std::vector<SyscallRule> syscalls = {};
  std::string name = "caisson-jailed";
  // Hard limits of the kernel. The defaults allow nothing new: no process, no descriptor beyond
  // those open now, no growing file. The address space is not limited because a worker reserves
  // terabytes of it.
  std::uint64_t processes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t file_bytes = 0;
};

// If this returns a value, every wall of the tier is up and was checked from inside where the
// kernel allows that. The list tells which optional walls are up. After an error some walls may be
// up; the caller must exit (I12). For kNone no wall is required: the list tells which walls stand,
// and a missing wall is never an error.
Result<Walls> Enter(const EnterSpec& spec);

}  // namespace caisson::jail
