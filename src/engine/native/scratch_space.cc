#include "engine/native/scratch_space.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/tree.h"
#include "jail/kernel_identity.h"

namespace caisson {
namespace {

constexpr std::string_view kPrefix = "caisson-cells-";
constexpr const char* kLock = "lock";
// Directories that wait to be removed, each with an open descriptor.
constexpr std::size_t kMostDoomed = 64;

// Removes directories of hosts that are gone.
void RemoveLeftovers(const std::string& place, const jail::Ids& ids) {
  const DirectoryStream directory = OpenToList(AT_FDCWD, place.c_str());
  if (directory == nullptr) return;
  const int here = ::dirfd(directory.get());
  EachEntry(directory.get(), [&](const char* name) {
    if (!std::string_view(name).starts_with(kPrefix)) return true;
    // Any user may have made it, if the place is shared.
    const UniqueFd left(::openat(here, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!left.is_open() || ::fstat(left.get(), &status) != 0) return true;
    if (status.st_uid != ids.host_uid && status.st_uid != ::geteuid()) return true;
    const UniqueFd lock(::openat(left.get(), kLock, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (lock.is_open() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) RemoveTree(here, name);
    return true;
  });
}

Error Unusable(const std::string& place, int error_number) {
  return Error::FromErrno(error_number,
                          "make a directory for cells in " + place +
                              " (engine native keeps their files there in tier landlock; "
                              "[engine] scratch names another place)");
}

}  // namespace

Result<std::unique_ptr<ScratchSpace>> ScratchSpace::Open(const std::string& place) {
  const jail::Ids ids = jail::ChooseIds();
  // RemoveNow() compares paths with those that the kernel reports, and the sweeper has another
  // working directory.
  std::array<char, PATH_MAX> real{};
  if (::realpath(place.c_str(), real.data()) == nullptr) return Unusable(place, errno);
  RemoveLeftovers(real.data(), ids);
  std::string path = std::string(real.data()) + "/" + std::string(kPrefix) + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return Unusable(place, errno);
  UniqueFd lock(::open((path + "/" + kLock).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!lock.is_open() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Unusable(place, errno);
  }
  if (ids.chosen && ::chown(path.c_str(), ids.host_uid, ids.host_gid) != 0) {
    return Unusable(place, errno);
  }
  struct statvfs mount{};
  const bool is_noexec = ::fstatvfs(lock.get(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0;
  return std::unique_ptr<ScratchSpace>(
      new ScratchSpace(std::move(path), std::move(lock), is_noexec));
}

ScratchSpace::ScratchSpace(std::string path, UniqueFd lock, bool is_noexec)
    : path_(std::move(path)),
      lock_(std::move(lock)),
      is_noexec_(is_noexec),
      remover_([this] { RemoveUntilStopped(); }) {}

Result<void> ScratchSpace::SweepIfKilled(const std::string& program_path) {
  const UniqueFd program(::open(program_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!program.is_open()) return Error::FromErrno(errno, "open " + program_path);
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!self.is_open()) return Error::FromErrno(errno, "pidfd of this process");
  auto sweeper = jail::Spawn({.tier = jail::Tier::kNone,
                              .program = &program,
                              .argv = {"caisson-sweeper", "--sweep=" + path_},
                              .descriptors = {&self},
                              .bond = jail::Bond::kOutlivesUs});
  if (!sweeper) return std::move(sweeper).error().Context("start the sweeper of " + path_);
  sweeper_ = *std::move(sweeper);
  return {};
}

ScratchSpace::~ScratchSpace() {
  {
    const std::lock_guard held(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  remover_.join();
  RemoveTree(AT_FDCWD, path_.c_str());
}

void ScratchSpace::Remove(UniqueFd directory) {
  {
    const std::lock_guard held(mutex_);
    if (doomed_.size() < kMostDoomed) doomed_.push_back(std::exchange(directory, {}));
  }
  if (directory.is_open()) return RemoveNow(directory);  // The other thread cannot keep up.
  changed_.notify_one();
}

void ScratchSpace::RemoveUntilStopped() {
  std::unique_lock held(mutex_);
  while (true) {
    changed_.wait(held, [this] { return stopping_ || !doomed_.empty(); });
    if (stopping_) return;  // The destructor removes everything.
    std::vector<UniqueFd> now = std::exchange(doomed_, {});
    held.unlock();
    for (const UniqueFd& directory : now) RemoveNow(directory);
    now.clear();
    held.lock();
  }
}

void ScratchSpace::RemoveNow(const UniqueFd& directory) const {
  // The cell cannot have renamed it: it has no rights above.
  std::string link(4096, '\0');
  const std::string self = "/proc/self/fd/" + std::to_string(directory.get());
  const ssize_t length = ::readlink(self.c_str(), link.data(), link.size());
  if (length <= 0) return;
  link.resize(static_cast<std::size_t>(length));
  if (link.starts_with(path_ + "/")) RemoveTree(AT_FDCWD, link.c_str());
}

}  // namespace caisson
