// A ScratchSpace is the directory for the files of native cells without a mount namespace (tier
// landlock): one subdirectory for each cell, made by the cell, removed when it has ended.
//
// Trust     Files that cells leave there are hostile. They are removed beneath a descriptor,
//           without following links.
// Threads   Any. Remove() returns soon; a separate thread removes large trees.
// Lifetime  The destructor removes everything. A host that was killed leaves its directory behind;
//           the next Open() in the same place removes it, because its lock is no longer held.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

struct TreeSize {
  std::size_t entries = 0;
  std::uint64_t bytes = 0;  // Disk space.
  bool whole = true;        // False: there was more than `most` entries or 64 levels.
};

// Returns the size of the tree beneath a directory. Looks at no more than `most` entries and 64
// levels.
TreeSize MeasureTree(const UniqueFd& directory, std::size_t most);

class ScratchSpace {
 public:
  // Makes a directory below `place` that belongs to the id of cells. Fails if `place` is not
  // writable.
  static Result<std::unique_ptr<ScratchSpace>> Open(const std::string& place);
  ScratchSpace(const ScratchSpace&) = delete;
  ScratchSpace& operator=(const ScratchSpace&) = delete;
  ~ScratchSpace();

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
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<UniqueFd> doomed_;  // Guarded by mutex_.
  bool stopping_ = false;         // Guarded by mutex_.
  std::thread remover_;
};

}  // namespace caisson
