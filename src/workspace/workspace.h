// A Workspace is the set of host directories that one cell sees, and applies the changes of its
// runs.
//
// The changes that a run made below an rw mount are applied when it has completed, to all such
// mounts or to none. A run that failed, was refused or hit a limit changes nothing. In a session
// the layer stays with the cell, so a later run that completes also applies the changes of an
// earlier one.
//
// Trust     Requests and changes are a guest's (I9); beneath.h and staging.h describe how the host
//           is protected.
// Threads   Same as HostFiles: requests never block, the work is done on `pool`, and answers come
//           from there.
// Lifetime  Shared by its opener, the cell, and the current work. One per cell: it remembers the
//           changes that it has applied.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "engine/host_files.h"
#include "workspace/layer.h"
#include "workspace/mount.h"
#include "workspace/staging.h"

namespace caisson::workspace {

class Workspace final : public HostFiles, public std::enable_shared_from_this<Workspace> {
 public:
  struct Options {
    boost::asio::any_io_executor pool;  // Threads that may block; they end before the engine.
    std::vector<std::string> hidden{};  // Directories and files that no mount may show.
  };

  // Opens the mounts (see OpenMounts) and removes what a crash left in the rw mounts. Blocks.
  static Result<std::shared_ptr<Workspace>> Open(std::vector<MountSpec> specs, Options options);

  std::span<const MountPoint> mounts() const override { return points_; }
  void List(std::uint32_t mount, std::string path, Done<std::vector<HostEntry>> done) override;
  void Read(std::uint32_t mount, HostRange range, Done<std::string> done) override;
  void Settle(std::vector<HostChange> changes, Outcome outcome, SettleDone done) override;
  const UniqueFd* directory(std::uint32_t mount) const override {
    return &mounts_[mount].directory;
  }
  std::optional<DirectoryId> directory_id(std::uint32_t mount) const override {
    return mounts_[mount].id;
  }
  void SettleLayer(Layer layer, Outcome outcome, SettleDone done) override;

 private:
  using Path = std::pair<std::uint32_t, std::string>;  // Mount, path below it.
  using Applied = std::map<Path, wire::FileVersion>;

  Workspace(std::vector<Mount> mounts, boost::asio::any_io_executor pool);
  void SettleNow(LayerChanges found, Outcome& outcome, Applied& applied) const;
  static void TakeIntoAccount(const Applied& applied, std::vector<HostChange>& changes);
  bool SameContents(const HostChange& change, const OutcomeFile& file) const;
  Result<void> Apply(const std::vector<HostChange>& changes, const Outcome& outcome,
                     Applied& applied) const;
  std::vector<WantedChange> WantedIn(std::uint32_t mount, const std::vector<HostChange>& changes,
                                     const Outcome& outcome) const;

  const std::vector<Mount> mounts_;
  const std::vector<MountPoint> points_;
  const boost::asio::any_io_executor pool_;
  Guarded<Applied> applied_;  // The result of earlier runs; inode 0: the file was removed.
};

}  // namespace caisson::workspace
