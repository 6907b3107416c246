// A ScratchSpace is the directory that native cells keep their files in where they have no mount namespace (tier
// landlock): one subdirectory for each cell, made by the cell, removed when it has ended.
//
// Trust     What cells leave there is hostile: it is removed beneath a descriptor, without following links.
// Threads   Any. Remove() returns soon; a thread of its own removes large trees.
// Lifetime  The destructor removes everything. A host that was killed leaves its directory behind; the next Open() in the
//           same place removes it, because nobody holds its lock any more.
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
  std::uint64_t bytes = 0;  // On the disk.
  bool whole = true;        // False: there was more than was looked at.
};

// What lies beneath a directory. Looks at `most` entries at most, and 64 levels.
TreeSize MeasureTree(const UniqueFd& directory, std::size_t most);

class ScratchSpace {
 public:
  // Makes a directory below `place` that belongs to the id that cells run under. Fails if `place` cannot be written to.
  static Result<std::unique_ptr<ScratchSpace>> Open(const std::string& place);
  ScratchSpace(const ScratchSpace&) = delete;
  ScratchSpace& operator=(const ScratchSpace&) = delete;
  ~ScratchSpace();

  const std::string& path() const { return path_; }
  // Whether it lies on a mount whose files cannot be mapped as code.
  bool is_noexec() const { return is_noexec_; }

  // Removes a cell's directory and all that is in it. The cell is dead.
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
