#include "engine/native/cell_mounts.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "jail/mount_tree.h"
#include "wire/fork_server_messages.h"

namespace caisson {
namespace {

Result<UniqueFd> OpenAgain(const UniqueFd& directory) {
  UniqueFd again(::openat(directory.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!again.is_open()) return Error::FromErrno(errno, "open the directory");
  return again;
}

}  // namespace

CellMounts::CellMounts(std::shared_ptr<const HostFiles> files, As as)
    : files_(std::move(files)), as_(as), opened_at_(std::chrono::system_clock::now()) {}

Result<std::shared_ptr<const CellMounts>> CellMounts::Open(std::shared_ptr<const HostFiles> files,
                                                           As as) {
  std::shared_ptr<CellMounts> mounts(new CellMounts(std::move(files), as));
  if (mounts->points().size() > wire::kMaxCellMounts) {
    return Error(ErrorCode::kInvalidArgument, "a cell of engine native has at most " +
                                                  std::to_string(wire::kMaxCellMounts) + " mounts");
  }
  for (std::uint32_t i = 0; i < mounts->points().size(); ++i) {
    const std::string& path = mounts->points()[i].guest_path;
    const UniqueFd* directory = mounts->files_->directory(i);
    if (directory == nullptr) {
      return Error(ErrorCode::kFailedPrecondition, path + " is not a directory of this machine");
    }
    const auto use = mounts->points()[i].mode == MountMode::kReadOnly ? jail::TreeUse::kRead
                                                                      : jail::TreeUse::kWrite;
    auto tree = as == As::kTrees ? jail::DetachTree(*directory, use) : OpenAgain(*directory);
    if (!tree) return std::move(tree).error().Context("mount " + path);
    mounts->trees_.push_back(*std::move(tree));
  }
  return std::shared_ptr<const CellMounts>(std::move(mounts));
}

std::size_t CellMounts::writable() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      points(), [](const MountPoint& point) { return point.mode != MountMode::kReadOnly; }));
}

bool CellMounts::any_applied() const {
  return std::ranges::any_of(
      points(), [](const MountPoint& point) { return point.mode == MountMode::kReadWrite; });
}

}  // namespace caisson
