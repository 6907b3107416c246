#include "jail/owners.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::jail {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Listing = std::unique_ptr<DIR, CloseDirectory>;

Listing List(const UniqueFd& root, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  if (!fd.is_open()) return nullptr;
  DIR* listing = ::fdopendir(fd.get());
  if (listing != nullptr) (void)fd.Release();
  return Listing(listing);
}

enum class Next { kGoOn, kStop };

// Calls visit(descriptor of the parent, name, status) for each entry until that says kStop. Returns
// false if there are more than kMaxOwnedEntries. What vanishes meanwhile, or cannot be listed, is
// left out.
template <typename Visit>
Result<bool> Walk(const UniqueFd& root, Visit visit) {
  std::vector<std::string> directories{"."};
  std::size_t seen = 0;
  while (!directories.empty()) {
    const std::string path = std::move(directories.back());
    directories.pop_back();
    const Listing listing = List(root, path);
    if (listing == nullptr) continue;
    const int parent = ::dirfd(listing.get());
    // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own.
    while (const dirent* entry = ::readdir(listing.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (seen++ == kMaxOwnedEntries) return false;
      struct stat status{};
      if (::fstatat(parent, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      TRY_ASSIGN(const Next next, visit(parent, entry->d_name, status));
      if (next == Next::kStop) return true;
      if (S_ISDIR(status.st_mode)) directories.push_back(path + "/" + entry->d_name);
    }
  }
  return true;
}

}  // namespace

Result<bool> HasOtherOwners(const UniqueFd& directory) {
  struct stat owner{};
  if (::fstat(directory.get(), &owner) != 0) return Error::FromErrno(errno, "look at a directory");
  bool found = false;
  const auto compare = [&](int, const char*, const struct stat& status) -> Result<Next> {
    found = status.st_uid != owner.st_uid || status.st_gid != owner.st_gid;
    return found ? Next::kStop : Next::kGoOn;
  };
  TRY(Walk(directory, compare));
  return found;
}

Result<void> GiveAll(const UniqueFd& directory, const Ids& ids) {
  const auto give = [&](int parent, const char* name, const struct stat&) -> Result<Next> {
    const bool given =
        ::fchownat(parent, name, ids.host_uid, ids.host_gid, AT_SYMLINK_NOFOLLOW) == 0;
    if (!given && errno != ENOENT) return Error::FromErrno(errno, "give " + std::string(name));
    return Next::kGoOn;
  };
  if (::fchownat(directory.get(), "", ids.host_uid, ids.host_gid, AT_EMPTY_PATH) != 0) {
    return Error::FromErrno(errno, "give a directory");
  }
  TRY_ASSIGN(const bool whole, Walk(directory, give));
  if (whole) return {};
  return Error(
      ErrorCode::kResourceExhausted,
      "some of its files belong to other users than the directory, and it has more than " +
          std::to_string(kMaxOwnedEntries) +
          " entries; mount a smaller directory, let one user own all of it, or mount it ro");
}

}  // namespace caisson::jail
