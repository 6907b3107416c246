// A NurseryLauncher starts nurseries; tests put a thread in a process's place.
//
// Trust     A nursery is ours until its first cell runs code, and is believed nothing all the same.
// Threads   Used on the lane that owns the nursery. The jail ties a child to the thread that started it,
//           so a lane starts its own nurseries and outlives them.
// Lifetime  A NurseryHandle owns its process: the destructor kills and reaps, and with it all cells.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/tier.h"

namespace caisson {

// What a nursery's interpreter is, and what it has imported before any code arrives.
struct NurseryKind {
  std::vector<std::string> preload{};  // Module names.
  // A virtual environment of the Python inside, or another Python, which is then started for each run. Empty: the
  // system's packages alone.
  std::string prefix{};
  bool is_foreign = false;  // Started for each run whatever its version: what tests use.

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
  int signal = 0;  // 0: it ended by itself, with `status`.
};

class NurseryHandle {
 public:
  virtual ~NurseryHandle() = default;
  // Readable once the process has ended.
  virtual const UniqueFd& ended() const = 0;
  virtual void Kill() = 0;
  // Whether it stands still because of a signal.
  virtual bool stopped() const { return false; }
  // How it ended. Blocks until it has.
  virtual NurseryExit Reap() = 0;
};

class NurseryLauncher {
 public:
  virtual ~NurseryLauncher() = default;
  virtual Result<std::unique_ptr<NurseryHandle>> Launch(const NurserySpec& spec) = 0;
};

// Starts the program in the jail. It is opened once, so that every nursery of an engine is the same. `scratch`: the path of
// a ScratchSpace; empty: cells have a mount namespace.
Result<std::unique_ptr<NurseryLauncher>> MakeNurseryLauncher(const std::string& nursery_path,
                                                             jail::Tier tier,
                                                             const std::string& scratch);

}  // namespace caisson
