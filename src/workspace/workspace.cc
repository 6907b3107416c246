#include "workspace/workspace.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <set>
#include <utility>

#include "workspace/beneath.h"

namespace caisson::workspace {
namespace {

namespace asio = boost::asio;
using Wanted = WantedChange::Wanted;

std::vector<MountPoint> PointsOf(const std::vector<Mount>& mounts) {
  std::vector<MountPoint> points;
  for (const Mount& mount : mounts) points.push_back(mount.point);
  return points;
}

}  // namespace

Result<std::shared_ptr<Workspace>> Workspace::Open(std::vector<MountSpec> specs, Options options) {
  TRY_ASSIGN(std::vector<Mount> mounts, OpenMounts(std::move(specs), options.hidden));
  for (const Mount& mount : mounts) {
    if (mount.point.mode == MountMode::kReadWrite) Staging::Recover(mount.directory);
  }
  return std::shared_ptr<Workspace>(new Workspace(std::move(mounts), std::move(options.pool)));
}

Workspace::Workspace(std::vector<Mount> mounts, asio::any_io_executor pool)
    : mounts_(std::move(mounts)), points_(PointsOf(mounts_)), pool_(std::move(pool)) {}

void Workspace::List(std::uint32_t mount, std::string path, Done<std::vector<HostEntry>> done) {
  asio::post(pool_, [self = shared_from_this(), mount, path = std::move(path),
                     done = std::move(done)]() mutable {
    done(ListBeneath(self->mounts_[mount].directory, path));
  });
}

void Workspace::Read(std::uint32_t mount, HostRange range, Done<std::string> done) {
  asio::post(pool_, [self = shared_from_this(), mount, range = std::move(range),
                     done = std::move(done)]() mutable {
    done(ReadBeneath(self->mounts_[mount].directory, range));
  });
}

void Workspace::Settle(std::vector<HostChange> changes, Outcome outcome, SettleDone done) {
  asio::post(pool_, [self = shared_from_this(), changes = std::move(changes),
                     outcome = std::move(outcome), done = std::move(done)]() mutable {
    self->SettleNow({.changes = std::move(changes)}, outcome, *self->applied_.Lock());
    done(std::move(outcome));
  });
}

void Workspace::SettleLayer(Layer layer, Outcome outcome, SettleDone done) {
  asio::post(pool_, [self = shared_from_this(), layer = std::move(layer),
                     outcome = std::move(outcome), done = std::move(done)]() mutable {
    LayerChanges found = ChangesOf(self->mounts_, std::move(layer), outcome.files);
    self->SettleNow(std::move(found), outcome, *self->applied_.Lock());
    done(std::move(outcome));
  });
}

// A cell reports its changes since its start. The changes that an earlier run applied are the state
// that this run found, so they are not applied again.
void Workspace::TakeIntoAccount(const Applied& applied, std::vector<HostChange>& changes) {
  if (applied.empty()) return;
  std::set<Path> put;
  for (HostChange& change : changes) {
    const auto before = applied.find({change.mount, change.path});
    if (before == applied.end()) continue;
    change.seen = before->second;
    if (change.change != FileChange::kDeleted) put.insert(before->first);
  }
  std::erase_if(changes, [&](const HostChange& change) {
    return change.change == FileChange::kDeleted && put.contains({change.mount, change.path});
  });
}

void Workspace::SettleNow(LayerChanges found, Outcome& outcome, Applied& applied) const {
  std::vector<HostChange>& changes = found.changes;
  TakeIntoAccount(applied, changes);
  std::set<std::size_t> unchanged;
  std::erase_if(changes, [&](const HostChange& change) {
    if (change.file == HostChange::kNoFile) return false;
    const bool same = SameContents(change, outcome.files[change.file]);
    if (same) unchanged.insert(change.file);
    return same;
  });
  if (outcome.status == RunStatus::kCompleted) {
    auto done = found.conflict ? Result<void>(*std::move(found.conflict))
                               : Apply(changes, outcome, applied);
    if (!done) {
      outcome.status = RunStatus::kFailed;
      outcome.reason = RunReason::kFiles;
      outcome.error =
          RunError{.type = done.error().code() == ErrorCode::kFailedPrecondition ? "MountConflict"
                                                                                 : "MountError",
                   .message = "nothing was written to the mounts: " + done.error().message()};
    }
  }
  std::size_t index = 0;
  std::erase_if(outcome.files, [&](const OutcomeFile&) { return unchanged.contains(index++); });
  // A removed file comes before the file that replaced it.
  std::ranges::sort(outcome.files, {}, [](const OutcomeFile& file) {
    return std::pair(std::string_view(file.path), file.change != "deleted");
  });
}

// A file that was written with unchanged contents does not count as modified.
bool Workspace::SameContents(const HostChange& change, const OutcomeFile& file) const {
  if (change.change == FileChange::kDeleted || !change.omitted.empty() || change.seen.inode == 0 ||
      change.seen.size != file.size) {
    return false;
  }
  HostRange range{.path = change.path, .version = change.seen, .exact = true};
  while (range.offset < file.size) {
    range.length = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(wire::kMaxReadBytes, file.size - range.offset));
    const auto bytes = ReadBeneath(mounts_[change.mount].directory, range);
    if (!bytes || *bytes != std::string_view(file.contents).substr(range.offset, range.length)) {
      return false;
    }
    range.offset += range.length;
  }
  return true;
}

std::vector<WantedChange> Workspace::WantedIn(std::uint32_t mount,
                                              const std::vector<HostChange>& changes,
                                              const Outcome& outcome) const {
  std::vector<WantedChange> wanted;
  for (const HostChange& change : changes) {
    if (change.mount != mount) continue;
    WantedChange& added =
        wanted.emplace_back(WantedChange{.path = change.path, .expected = change.seen});
    if (change.change == FileChange::kDeleted) continue;
    added.wanted = change.file == HostChange::kNoFile ? Wanted::kDirectory : Wanted::kFile;
    if (added.wanted == Wanted::kFile) added.contents = outcome.files[change.file].contents;
  }
  return wanted;
}

Result<void> Workspace::Apply(const std::vector<HostChange>& changes, const Outcome& outcome,
                              Applied& applied) const {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < mounts_.size(); ++i) {
    if (points_[i].mode == MountMode::kReadWrite) numbers.push_back(i);
  }
  for (const HostChange& change : changes) {
    const bool concerned = std::ranges::find(numbers, change.mount) != numbers.end() ||
                           (change.path.empty() && !numbers.empty());
    if (!concerned || change.omitted.empty()) continue;
    const std::string where = change.path.empty() ? ""
                                                  : points_[change.mount].guest_path + '/' +
                                                        change.path + " is left out, ";
    return Error(ErrorCode::kResourceExhausted, where + change.omitted);
  }
  struct Part {
    std::uint32_t mount;
    std::vector<WantedChange> wanted;
    Staging staging;
  };
  std::vector<Part> parts;
  for (const std::uint32_t mount : numbers) {
    std::vector<WantedChange> wanted = WantedIn(mount, changes, outcome);
    if (wanted.empty()) continue;
    auto staging = Staging::Prepare(mounts_[mount].directory, wanted);
    if (!staging) return std::move(staging).error().Context(points_[mount].guest_path);
    parts.push_back({.mount = mount, .wanted = std::move(wanted), .staging = *std::move(staging)});
  }
  for (Part& part : parts) {
    auto done = part.staging.Commit();
    if (!done) return std::move(done).error().Context(points_[part.mount].guest_path);
  }
  for (Part& part : parts) {
    part.staging.Finish();
    for (std::size_t i = 0; i < part.wanted.size(); ++i) {
      applied.insert_or_assign({part.mount, part.wanted[i].path}, part.staging.versions()[i]);
    }
  }
  return {};
}

}  // namespace caisson::workspace
