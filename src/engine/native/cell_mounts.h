// CellMounts gives a new cell access to the host: one tree for each of its mounts.
//
// Trust     The operator or the caller chose the directories, and they were checked
//           (workspace/mount.h). Trees are read-only (jail/mount_tree.h).
// Threads   Any; Open() takes a millisecond for each mount.
// Lifetime  Shared by the code that waits for the cell and by the cell. Its trees serve one cell.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/host_files.h"

namespace caisson {

class CellMounts {
 public:
  // kTrees: to be mounted. kDirectories: to be opened by descriptor, where mounting is not
  // possible.
  enum class As { kTrees, kDirectories };
  static Result<std::shared_ptr<const CellMounts>> Open(std::shared_ptr<const HostFiles> files,
                                                        As as);

  std::span<const MountPoint> points() const { return files_->mounts(); }
  const std::vector<UniqueFd>& trees() const { return trees_; }
  const std::shared_ptr<const HostFiles>& files() const { return files_; }
  As as() const { return as_; }
  // A file with a later time stamp was changed while the cell existed, or shortly before.
  std::chrono::system_clock::time_point opened_at() const { return opened_at_; }
  // The number of mounts with a layer, and whether changes of one of them must be applied.
  std::size_t writable() const;
  bool any_applied() const;

 private:
  CellMounts(std::shared_ptr<const HostFiles> files, As as);

  std::shared_ptr<const HostFiles> files_;
  As as_;
  std::chrono::system_clock::time_point opened_at_;
  std::vector<UniqueFd> trees_;
};

}  // namespace caisson
