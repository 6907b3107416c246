// A ForkServerLauncher starts fork servers. Tests start a thread instead of a process.
//
// Trust     A fork server is our own program until its first cell runs code. Nothing that it sends
//           is trusted even so.
// Threads   Used on the lane that owns the fork server. The jail ties a child to the thread that
//           started it, so a lane starts its own fork servers and outlives them.
// Lifetime  A ForkServerHandle owns its process: the destructor kills and reaps it and all its
//           cells.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/tier.h"

namespace caisson {

// The interpreter of a fork server, and the modules it has imported before any code arrives.
struct ForkServerKind {
  std::vector<std::string> preload{};  // Module names.
  // A virtual environment of the embedded Python, or another Python, which is then started for each
  // run. Empty: only the system's packages.
  std::string prefix{};
  // Start the Python of `prefix` for each run, whatever its version. For tests.
  bool is_foreign = false;

  bool operator==(const ForkServerKind&) const = default;
};

struct ForkServerSpec {
  const ForkServerKind& kind;
  const UniqueFd& control;  // Becomes wire::kControlFd.
  const UniqueFd& log;      // Becomes descriptor 2.
  std::optional<int> cpu;
};

struct ForkServerExit {
  int status = 0;
  int signal = 0;  // 0: it exited by itself, with `status`.
};

class ForkServerHandle {
 public:
  virtual ~ForkServerHandle() = default;
  // Becomes readable when the process has ended.
  virtual const UniqueFd& ended() const = 0;
  virtual void Kill() = 0;
  // Returns whether a signal has stopped it.
  virtual bool stopped() const { return false; }
  // Blocks until the process has ended and returns how.
  virtual ForkServerExit Reap() = 0;
};

class ForkServerLauncher {
 public:
  virtual ~ForkServerLauncher() = default;
  virtual Result<std::unique_ptr<ForkServerHandle>> Launch(const ForkServerSpec& spec) = 0;
};

// Starts the program in the jail. It is opened once, so that every fork server of an engine is the
// same. `scratch`: the path of a ScratchSpace; empty: cells have a mount namespace.
Result<std::unique_ptr<ForkServerLauncher>> MakeForkServerLauncher(
    const std::string& fork_server_path, jail::Tier tier, const std::string& scratch);

}  // namespace caisson
