#include "jail/slot.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "jail/walls.h"

namespace caisson::jail {
namespace {

template <typename T>
void Append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Result<UniqueFd> OpenDirectory(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return Error::FromErrno(errno, "open " + path);
  return fd;
}

// Appends all information about a directory that is visible without reading it.
Result<void> AppendLooks(const UniqueFd& directory, std::string& looks) {
  struct statx seen{};
  if (::statx(directory.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &seen) != 0) {
    return Error::FromErrno(errno, "look at private files");
  }
  Append(looks, seen.stx_mode);
  Append(looks, seen.stx_uid);
  Append(looks, seen.stx_gid);
  Append(looks, seen.stx_nlink);
  Append(looks, seen.stx_size);
  for (const statx_timestamp& time : {seen.stx_atime, seen.stx_mtime, seen.stx_ctime}) {
    Append(looks, time.tv_sec);
    Append(looks, time.tv_nsec);
  }
  return {};
}

}  // namespace

Result<Slot> Slot::Open(const Enclosure& enclosure, SlotSpec spec) {
  TRY(SetProcessName("caisson-slot"));
  TRY(enclosure.SettleIdentity());
  Slot slot(enclosure, std::move(spec));
  TRY(slot.MakeFiles());
  TRY(DropPrivilegeSources());
  TRY(KeepMountingOnly());
  // The kernel counts tasks per user namespace, and this process is one of them.
  const Limit tasks{RLIMIT_NPROC, slot.spec_.walls.tasks + 1};
  TRY(SetLimits({&tasks, 1}));
  TRY(ForbidDumping());
  return slot;
}

Result<void> Slot::MakeFiles() {
  TRY(MountPrivateFiles(spec_.files, spec_.bytes, spec_.inodes));
  TRY_ASSIGN(files_, OpenDirectory(spec_.files.mount_point));
  directories_.clear();
  for (const std::string& name : spec_.files.directories) {
    TRY_ASSIGN(UniqueFd directory, OpenDirectory("/" + name));
    directories_.push_back(std::move(directory));
  }
  TRY_ASSIGN(rules_, enclosure_->MakeRules(spec_.walls.paths));
  TRY_ASSIGN(fresh_, Look());
  return {};
}

Result<void> Slot::RenewFiles() {
  if (::chdir("/") != 0) return Error::FromErrno(errno, "leave the private files");
  for (const std::string& name : spec_.files.directories) {
    if (::umount2(("/" + name).c_str(), MNT_DETACH) != 0) {
      return Error::FromErrno(errno, "detach /" + name);
    }
  }
  if (::umount2(spec_.files.mount_point.c_str(), MNT_DETACH) != 0) {
    return Error::FromErrno(errno, "detach the private files");
  }
  return MakeFiles();
}

Result<std::string> Slot::Look() const {
  std::string looks;
  TRY(AppendLooks(files_, looks));
  for (const UniqueFd& directory : directories_) TRY(AppendLooks(directory, looks));
  struct statfs room{};
  if (::fstatfs(files_.get(), &room) != 0) return Error::FromErrno(errno, "measure private files");
  Append(looks, room.f_bfree);
  Append(looks, room.f_ffree);
  return looks;
}

bool Slot::AreFilesUntouched() const {
  const Result<std::string> looks = Look();
  return looks && *looks == fresh_;
}

Result<Enclosure::Forked> Slot::Fork() const {
  return enclosure_->ForkInSlot();
}

// Securebits and limits are inherited, and so is the bounding set, which is empty.
Result<void> Slot::Confine() const {
  TRY(enclosure_->ApplyRules(rules_));
  TRY(DropCapabilities());
  return ForbidDumping();
}

// File stamps use CLOCK_REALTIME_COARSE, or a finer clock on file systems with multigrain
// timestamps. The kernel advances both coarse clocks in one step (timekeeping_update), so the
// monotonic one, which cannot be set, tells when. If the time of day is set back, later stamps
// still differ.
void AwaitNextTick() {
  const auto now = [](clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::pair(time.tv_sec, time.tv_nsec);
  };
  const auto then = now(CLOCK_MONOTONIC);
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 200'000};
  while (now(CLOCK_MONOTONIC_COARSE) <= then) ::nanosleep(&kNap, nullptr);
}

}  // namespace caisson::jail
