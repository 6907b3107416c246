#include "base/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace caisson {
namespace {

constexpr int kDeepest = 64;

int OpenDirectory(int parent, const char* name) {
  return ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Code that runs under our id can make a directory whose mode forbids us to list it (mkdir with
// mode 0300), and would hide its files there from limits and from removal.
int OpenUnlisted(int parent, const char* name) {
  const UniqueFd found(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!found.is_open()) return -1;
  const std::string self = "/proc/self/fd/" + std::to_string(found.get());
  if (::chmod(self.c_str(), S_IRWXU) != 0) return -1;
  return OpenDirectory(parent, name);
}

void Measure(int parent, const char* name, std::size_t most, int depth, TreeSize& size) {
  const DirectoryStream directory = OpenToList(parent, name);
  if (directory == nullptr) return;
  const int here = ::dirfd(directory.get());
  EachEntry(directory.get(), [&](const char* entry) {
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
  const DirectoryStream directory = OpenToList(parent, name);
  if (directory == nullptr) return;
  const int here = ::dirfd(directory.get());
  EachEntry(directory.get(), [&](const char* entry) {
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

}  // namespace

DirectoryStream OpenToList(int parent, const char* name) {
  int fd = OpenDirectory(parent, name);
  if (fd < 0 && errno == EACCES) fd = OpenUnlisted(parent, name);
  DIR* const directory = fd >= 0 ? ::fdopendir(fd) : nullptr;
  if (directory == nullptr && fd >= 0) ::close(fd);
  return DirectoryStream(directory);
}

void EachEntry(DIR* directory, const std::function<bool(const char* name)>& visit) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own.
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !visit(entry->d_name)) return;
  }
}

TreeSize MeasureTree(const UniqueFd& directory, std::size_t most) {
  TreeSize size;
  Measure(directory.get(), ".", most, 0, size);
  return size;
}

bool RemoveTree(int parent, const char* name) {
  const UniqueFd top(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  int moved = 0;
  // Each round removes at least one level that was too deep.
  for (int before = -1; moved != before;) {
    before = moved;
    Empty(parent, name, top.get(), 0, moved);
  }
  return ::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

}  // namespace caisson
