// A ScratchSpace is the directory for the files of native cells without a mount namespace (tier
// landlock): one subdirectory for each cell, made by the cell, removed when it has ended.
//
// Trust     Files that cells leave there are hostile. They are removed beneath a descriptor,
//           without following links.
// Threads   Any. A separate thread removes what Remove() is given: even few files take longer, on a
//           disk, than a cell may take to end.
// Lifetime  The destructor removes everything. If the host is killed, its sweeper does. If both are
//           killed, the next Open() in the same place does, because the lock is no longer held.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/spawn_process.h"

namespace caisson {

class ScratchSpace {
 public:
  // Makes a directory below `place` that belongs to the id of cells. Fails if `place` is not
  // writable.
  static Result<std::unique_ptr<ScratchSpace>> Open(const std::string& place);
  ScratchSpace(const ScratchSpace&) = delete;
  ScratchSpace& operator=(const ScratchSpace&) = delete;
  ~ScratchSpace();

  // Starts the sweeper: a process that removes the directory as soon as this process has ended
  // without doing so. `program_path`: caisson-forkserver.
  Result<void> SweepIfKilled(const std::string& program_path);

  const std::string& path() const { return path_; }
  // Returns whether it lies on a mount whose files cannot be mapped as code.
  bool is_noexec() const { return is_noexec_; }

  // Removes a cell's directory with its contents. The cell must be dead.
  void Remove(UniqueFd directory);

 private:
  ScratchSpace(std::string path, UniqueFd lock, bool is_noexec);
  void RemoveUntilStopped();
  void RemoveNow(const UniqueFd& directory) const;

  const std::string path_;
  const UniqueFd lock_;  // Held as long as this process lives.
  const bool is_noexec_;
  std::optional<jail::Child> sweeper_;  // Killed after the directory has been removed.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<UniqueFd> doomed_;  // Guarded by mutex_.
  bool stopping_ = false;         // Guarded by mutex_.
  std::thread remover_;
};

}  // namespace caisson
