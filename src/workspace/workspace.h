// A Workspace is the host's directories as one cell sees them, and as its runs leave them.
//
// What a run changed below an rw mount is applied when it has completed, to all such mounts or to none; a
// run that failed, was refused or hit a limit leaves them alone. In a session the layer stays with the
// cell, so a later run that completes applies what an earlier one left.
//
// Trust     Requests and changes are a guest's (I9); see beneath.h and staging.h for what protects the host.
// Threads   As HostFiles: requests never block, the work is done on `pool`, and answers come from there.
// Lifetime  Shared by whoever opened it, the cell, and the work under way. One per cell: it remembers what
//           it has applied.
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
    boost::asio::any_io_executor pool;  // Threads that may block; gone before the engine is.
    std::vector<std::string> hidden{};  // Directories and files that no mount may show.
  };

  // Opens the mounts (see OpenMounts) and clears away what a crash left in those that are rw. Blocks.
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
  Guarded<Applied> applied_;  // What the runs before have put there; inode 0: nothing any more.
};

}  // namespace caisson::workspace
