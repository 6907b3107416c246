// A NurseryLauncher starts nurseries. Tests start a thread instead of a process.
//
// Trust     A nursery is our own program until its first cell runs code. Nothing that it sends is
//           trusted even so.
// Threads   Used on the lane that owns the nursery. The jail ties a child to the thread that
//           started it, so a lane starts its own nurseries and outlives them.
// Lifetime  A NurseryHandle owns its process: the destructor kills and reaps it and all its cells.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/tier.h"

namespace caisson {

// The interpreter of a nursery, and the modules it has imported before any code arrives.
struct NurseryKind {
  std::vector<std::string> preload{};  // Module names.
  // A virtual environment of the embedded Python, or another Python, which is then started for each
  // run. Empty: only the system's packages.
  std::string prefix{};
  // Start the Python of `prefix` for each run, whatever its version. For tests.
  bool is_foreign = false;

  bool operator==(const NurseryKind&) const = default;
};

struct NurserySpec {
  const NurseryKind& kind;
  const UniqueFd& control;  // Becomes wire::kControlFd.
  const UniqueFd& log;      // Becomes descriptor 2.
  std::optional<int> cpu;
};

struct NurseryExit {
  int status = 0;
  int signal = 0;  // 0: it exited by itself, with `status`.
};

class NurseryHandle {
 public:
  virtual ~NurseryHandle() = default;
  // Becomes readable when the process has ended.
  virtual const UniqueFd& ended() const = 0;
  virtual void Kill() = 0;
  // Returns whether a signal has stopped it.
  virtual bool stopped() const { return false; }
  // Blocks until the process has ended and returns how.
  virtual NurseryExit Reap() = 0;
};

class NurseryLauncher {
 public:
  virtual ~NurseryLauncher() = default;
  virtual Result<std::unique_ptr<NurseryHandle>> Launch(const NurserySpec& spec) = 0;
};

// Starts the program in the jail. It is opened once, so that every nursery of an engine is the
// same. `scratch`: the path of a ScratchSpace; empty: cells have a mount namespace.
Result<std::unique_ptr<NurseryLauncher>> MakeNurseryLauncher(const std::string& nursery_path,
                                                             jail::Tier tier,
                                                             const std::string& scratch);

}  // namespace caisson
