// A Launcher starts worker processes. Tests start a thread instead of a process.
//
// Trust     The started worker is hostile from its first frame on.
// Threads   Used on the lane that owns the worker. The jail ties a child to the thread that started
//           it, so a lane starts its own workers and outlives them.
// Lifetime  A WorkerHandle owns its process: the destructor kills and reaps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/tier.h"

namespace caisson {

struct LaunchSpec {
  const UniqueFd& channel;  // Becomes wire::kChannelFd.
  const UniqueFd& notify;   // Becomes wire::kNotifyFd.
  const UniqueFd& log;      // Becomes descriptor 2.
  std::optional<int> cpu;
};

struct WorkerExit {
  int status = 0;
  int signal = 0;  // 0: it exited by itself, with `status`.
  bool denied_syscall = false;
};

class WorkerHandle {
 public:
  virtual ~WorkerHandle() = default;
  // Becomes readable when the process has ended.
  virtual const UniqueFd& ended() const = 0;
  virtual void Kill() = 0;
  // Blocks until the process has ended and returns how.
  virtual WorkerExit Reap() = 0;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual Result<std::unique_ptr<WorkerHandle>> Launch(const LaunchSpec& spec) = 0;
};

// Starts `worker_path` in the jail with `base_path` as wire::kBaseFd. The files are opened once, so
// that every worker of an engine is the same program with the same snapshot.
struct JailLauncherOptions {
  std::string worker_path;
  std::string base_path;
  jail::Tier tier = jail::Tier::kNamespace;
  std::vector<std::string> arguments{};  // In addition to the tier.
};
Result<std::unique_ptr<Launcher>> MakeJailLauncher(JailLauncherOptions options);

}  // namespace caisson
