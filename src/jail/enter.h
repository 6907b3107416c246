// Enter puts up the walls around the calling process, from inside, before it sees any hostile code.
//
// Trust     Privileged, and the last trusted step: after it returns the process is assumed hostile.
// Threads   The process must be single-threaded; Enter checks.
// Lifetime  Nothing it does can be undone. Open what you need first (/proc/self/pagemap, timers).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "jail/filter.h"
#include "jail/tier.h"

namespace caisson::jail {

struct EnterSpec {
  Tier tier = Tier::kNamespace;            // The one it was spawned with.
  std::vector<SyscallRule> syscalls = {};  // All that remains possible; see WorkerSyscalls().
  std::string name = "caisson-jailed";
  // Hard limits of the kernel. The defaults allow nothing new: no process, no descriptor beyond
  // those open now, no growing file. Address space is not limited: a worker reserves terabytes of
  // it.
  std::uint64_t processes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t file_bytes = 0;
};

// Every wall of the tier is up when this returns a value, checked from inside where the kernel lets
// us; the list says which extra ones are. On an error some walls may be up: the caller exits (I12).
// For kNone nothing is required and the list tells what stands; it never fails for a missing wall.
Result<Walls> Enter(const EnterSpec& spec);

}  // namespace caisson::jail
