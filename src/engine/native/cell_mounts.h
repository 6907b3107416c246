// CellMounts is what a cell that is being made gets of the host: a tree for each of its mounts.
//
// Trust     The directories are the operator's or the caller's choice and were checked (workspace/mount.h); trees
//           are read-only (jail/tree.h).
// Threads   Open() takes a millisecond for each mount; any.
// Lifetime  Shared by whoever waits for the cell and by the cell. Its trees serve one cell.
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
  // kTrees: to be mounted. kDirectories: to be opened by their descriptors, where nothing can be mounted.
  enum class As { kTrees, kDirectories };
  static Result<std::shared_ptr<const CellMounts>> Open(std::shared_ptr<const HostFiles> files,
                                                        As as);

  std::span<const MountPoint> points() const { return files_->mounts(); }
  const std::vector<UniqueFd>& trees() const { return trees_; }
  const std::shared_ptr<const HostFiles>& files() const { return files_; }
  As as() const { return as_; }
  // What is stamped later was changed when the cell was there, or nearly.
  std::chrono::system_clock::time_point opened_at() const { return opened_at_; }
  // How many have a layer, and whether one of these is to be applied.
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
