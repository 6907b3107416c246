#include "workspace/layer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "workspace/beneath.h"

namespace caisson::workspace {
namespace {

using Kind = LayerEntry::Kind;
using Time = std::chrono::system_clock::time_point;

constexpr const char* kTooMany = "too many files";

Time TimeOf(const timespec& time) {
  return Time(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

class LayerReader {
 public:
  LayerReader(std::span<const Mount> mounts, Layer layer, std::vector<OutcomeFile>& files)
      : mounts_(mounts), layer_(std::move(layer)), files_(files) {
    for (const LayerEntry& entry : layer_.entries) kept_.emplace(entry.mount, entry.path);
  }

  LayerChanges Read() && {
    for (LayerEntry& entry : layer_.entries) Read(entry);
    return std::move(result_);
  }

 private:
  void Read(LayerEntry& entry) {
    const auto below = Look(entry.mount, entry.path);
    if (entry.kind == Kind::kRemoved) {
      if (below) Remove(entry.mount, entry.path, *below);
    } else if (entry.kind == Kind::kDirectory) {
      ReadDirectory(entry, below);
    } else {
      ReadFile(entry, below);
    }
  }

  void ReadDirectory(const LayerEntry& entry, const std::optional<struct ::stat>& below) {
    if (below && S_ISDIR(below->st_mode)) {
      if (entry.opaque) RemoveContents(entry.mount, entry.path);
      return;
    }
    if (below) Remove(entry.mount, entry.path, *below);
    result_.changes.push_back({.mount = entry.mount, .path = entry.path});
  }

  void ReadFile(LayerEntry& entry, const std::optional<struct ::stat>& below) {
    HostChange change{.mount = entry.mount, .path = entry.path, .omitted = entry.file.omitted};
    if (below && S_ISREG(below->st_mode)) {
      RequireOld(entry.mount, entry.path, *below);
      change.change = FileChange::kModified;
      change.seen = VersionOf(*below);
      entry.file.change = "modified";
    } else if (below) {
      Remove(entry.mount, entry.path, *below);
    } else if (entry.copied) {
      RequireUnmissed(entry.mount, entry.path);
    }
    change.file = files_.size();
    files_.push_back(std::move(entry.file));
    result_.changes.push_back(std::move(change));
  }

  // Returns the status of a path in the directory, without following links.
  std::optional<struct ::stat> Look(std::uint32_t mount, const std::string& path) const {
    if (!IsPlainPath(path)) return std::nullopt;
    const UniqueFd found = OpenBeneath(mounts_[mount].directory, path, O_PATH);
    struct ::stat stat{};
    if (!found.is_open() || ::fstat(found.get(), &stat) != 0) return std::nullopt;
    return stat;
  }

  void Remove(std::uint32_t mount, const std::string& path, const struct ::stat& below) {
    const bool directory = S_ISDIR(below.st_mode);
    if (directory) {
      RemoveContents(mount, path);
    } else {
      RequireOld(mount, path, below);
    }
    AddRemoved(mount, path, directory, VersionOf(below));
  }

  // Skips paths for which the layer has its own entry.
  void RemoveContents(std::uint32_t mount, const std::string& path) {
    const auto entries = ListBeneath(mounts_[mount].directory, path);
    if (!entries) return Conflict(mount, path, "cannot be listed on the host");
    for (const HostEntry& entry : *entries) {
      const std::string below = path + "/" + entry.name;
      if (kept_.contains({mount, below})) continue;
      if (result_.conflict || full_) return;
      if (const auto found = Look(mount, below)) Remove(mount, below, *found);
    }
  }

  void AddRemoved(std::uint32_t mount, const std::string& path, bool directory,
                  const wire::FileVersion& version) {
    if (full_) return;
    HostChange change{
        .mount = mount, .path = path, .change = FileChange::kDeleted, .seen = version};
    full_ = removed_ == layer_.max_files;
    if (full_) change.omitted = kTooMany;
    if (!directory) {
      ++removed_;
      change.file = files_.size();
      files_.push_back({.path = mounts_[mount].point.guest_path + "/" + path,
                        .change = "deleted",
                        .omitted = change.omitted});
    }
    result_.changes.push_back(std::move(change));
  }

  void RequireOld(std::uint32_t mount, const std::string& path, const struct ::stat& below) {
    if (TimeOf(below.st_ctim) > layer_.since) {
      Conflict(mount, path, "was changed on the host during the run");
    }
  }

  // A file of the layer that came from the directory but is missing there: either the run moved it
  // here, or the host removed a file to which the run wrote. If its parent directory is unchanged,
  // it was the run.
  void RequireUnmissed(std::uint32_t mount, const std::string& path) {
    std::string parent = path;
    std::optional<struct ::stat> below;
    while (!below && !parent.empty()) {
      const std::size_t slash = parent.rfind('/');
      parent.erase(slash == parent.npos ? 0 : slash);
      below = Look(mount, parent);
    }
    if (!below || TimeOf(below->st_ctim) > layer_.since) {
      Conflict(mount, path,
               "may have been removed on the host: its directory changed during the run");
    }
  }

  void Conflict(std::uint32_t mount, const std::string& path, std::string_view what) {
    const MountPoint& point = mounts_[mount].point;
    if (point.mode != MountMode::kReadWrite || result_.conflict) return;
    result_.conflict = Error(ErrorCode::kFailedPrecondition,
                             point.guest_path + ": " + path + ' ' + std::string(what));
  }

  const std::span<const Mount> mounts_;
  Layer layer_;
  std::vector<OutcomeFile>& files_;
  std::set<std::pair<std::uint32_t, std::string>> kept_;
  LayerChanges result_;
  std::size_t removed_ = 0;
  bool full_ = false;
};

}  // namespace

LayerChanges ChangesOf(std::span<const Mount> mounts, Layer layer,
                       std::vector<OutcomeFile>& files) {
  return LayerReader(mounts, std::move(layer), files).Read();
}

}  // namespace caisson::workspace
