#include "engine/native/scratch_space.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

#include "jail/kernel_identity.h"

namespace caisson {
namespace {

constexpr std::string_view kPrefix = "caisson-cells-";
constexpr const char* kLock = "lock";
constexpr int kDeepest = 64;
constexpr std::size_t kFewEntries = 64;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// Opens a separate stream, so that it starts at the beginning; the descriptor may be O_PATH.
Directory List(int parent, const char* name) {
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* const directory = fd >= 0 ? ::fdopendir(fd) : nullptr;
  if (directory == nullptr && fd >= 0) ::close(fd);
  return Directory(directory);
}

// Calls `visit` for each entry until it returns false.
void Each(DIR* directory, const std::function<bool(const char* name)>& visit) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own.
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !visit(entry->d_name)) return;
  }
}

void Measure(int parent, const char* name, std::size_t most, int depth, TreeSize& size) {
  const Directory directory = List(parent, name);
  if (directory == nullptr) return;
  const int here = ::dirfd(directory.get());
  Each(directory.get(), [&](const char* entry) {
    if (size.entries == most || depth == kDeepest) {
      size.whole = false;
      return false;
    }
    struct stat status{};
    if (::fstatat(here, entry, &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
    ++size.entries;
    size.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    if (S_ISDIR(status.st_mode)) Measure(here, entry, most, depth + 1, size);
    return size.whole;
  });
}

// Empties a directory. Entries that are too deep are first moved up to `top` and then removed.
void Empty(int parent, const char* name, int top, int depth, int& moved) {
  const Directory directory = List(parent, name);
  if (directory == nullptr) return;
  const int here = ::dirfd(directory.get());
  Each(directory.get(), [&](const char* entry) {
    if (::unlinkat(here, entry, 0) == 0) return true;
    if (::unlinkat(here, entry, AT_REMOVEDIR) == 0) return true;
    if (depth == kDeepest) {
      const std::string up = "deep" + std::to_string(++moved);
      static_cast<void>(::renameat(here, entry, top, up.c_str()));
    } else {
      Empty(here, entry, top, depth + 1, moved);
      static_cast<void>(::unlinkat(here, entry, AT_REMOVEDIR));
    }
    return true;
  });
}

void RemoveTree(int parent, const char* name) {
  const UniqueFd top(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  int moved = 0;
  // Each round removes at least one level that was too deep.
  for (int before = -1; moved != before;) {
    before = moved;
    Empty(parent, name, top.get(), 0, moved);
  }
  static_cast<void>(::unlinkat(parent, name, AT_REMOVEDIR));
}

// Removes directories of hosts that are gone.
void RemoveLeftovers(const std::string& place, const jail::Ids& ids) {
  const Directory directory = List(AT_FDCWD, place.c_str());
  if (directory == nullptr) return;
  const int here = ::dirfd(directory.get());
  Each(directory.get(), [&](const char* name) {
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

TreeSize MeasureTree(const UniqueFd& directory, std::size_t most) {
  TreeSize size;
  Measure(directory.get(), ".", most, 0, size);
  return size;
}

Result<std::unique_ptr<ScratchSpace>> ScratchSpace::Open(const std::string& place) {
  const jail::Ids ids = jail::ChooseIds();
  RemoveLeftovers(place, ids);
  std::string path = place + "/" + std::string(kPrefix) + "XXXXXX";
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
  // Removing few files takes less time than waking another thread.
  if (MeasureTree(directory, kFewEntries).whole) return RemoveNow(directory);
  {
    const std::lock_guard held(mutex_);
    doomed_.push_back(std::move(directory));
  }
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
