#include "workspace/mount.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "workspace/beneath.h"

namespace caisson::workspace {
namespace {

// In a cell, the interpreter needs these directories.
constexpr std::string_view kGuestOwn[] = {"/bin",   "/boot",  "/dev", "/etc",  "/lib",
                                          "/lib32", "/lib64", "/opt", "/proc", "/run",
                                          "/sbin",  "/sys",   "/tmp", "/usr",  "/var"};
constexpr std::string_view kKernelsOwn[] = {"/proc", "/sys", "/dev"};
constexpr int kMaxDepth = 4096;  // Nesting of host directories; longer paths do not exist.

Error Refused(const std::string& what, std::string_view why) {
  return {ErrorCode::kInvalidArgument, "cannot mount " + what + ": " + std::string(why)};
}

// Returns true if `path` is `other` or below it.
bool IsBelow(std::string_view path, std::string_view other) {
  return path.starts_with(other) && (path.size() == other.size() || path[other.size()] == '/');
}

bool Overlap(std::string_view a, std::string_view b) {
  return IsBelow(a, b) || IsBelow(b, a);
}

Result<void> CheckGuestPath(const std::string& path) {
  if (!path.starts_with('/')) return Refused("at " + path, "the path in the cell is not absolute");
  if (path == "/") return Refused("at /", "the root of a cell cannot be a mount");
  if (!IsPlainPath(std::string_view(path).substr(1))) {
    return Refused("at " + path, "the path in the cell is not a plain one (no '.', '..', '//')");
  }
  for (const std::string_view own : kGuestOwn) {
    if (IsBelow(path, own))
      return Refused("at " + path, std::string(own) + " is used by the cell itself");
  }
  if (path.starts_with("/output/")) {
    return Refused("at " + path, "paths below /output belong to the run; mount at /output itself");
  }
  return {};
}

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Identity&) const = default;
};

Result<Identity> IdentityOf(const UniqueFd& directory) {
  struct ::stat stat{};
  if (::fstat(directory.get(), &stat) != 0) return Error::FromErrno(errno, "stat");
  return Identity{.device = stat.st_dev, .inode = stat.st_ino};
}

Result<DirectoryId> IdOf(const UniqueFd& directory) {
  struct ::stat stat{};
  if (::fstat(directory.get(), &stat) != 0) return Error::FromErrno(errno, "stat");
  return DirectoryId{
      .device = stat.st_dev, .inode = stat.st_ino, .user = stat.st_uid, .group = stat.st_gid};
}

// Returns a directory and all its parents, up to the root.
Result<std::vector<Identity>> Ancestry(const UniqueFd& directory) {
  std::vector<Identity> ancestry;
  UniqueFd here(::openat(directory.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (!here.is_open()) return Error::FromErrno(errno, "find out where it lies");
    TRY_ASSIGN(const Identity identity, IdentityOf(here));
    if (!ancestry.empty() && ancestry.back() == identity)
      return ancestry;  // The root is its own parent.
    ancestry.push_back(identity);
    here = UniqueFd(::openat(here.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return Error(ErrorCode::kInvalidArgument, "it is nested too deeply");
}

// Returns true if one of the two is the other or inside it.
bool Overlap(std::span<const Identity> a, std::span<const Identity> b) {
  return std::ranges::find(a, b.front()) != a.end() || std::ranges::find(b, a.front()) != b.end();
}

Result<UniqueFd> OpenRoot(std::string path) {
  // A slash at the end would follow a link.
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.empty() || path.find('\0') != path.npos) return Refused("''", "no directory is named");
  UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.is_open()) return directory;
  const int why = errno;
  struct ::stat stat{};
  if (why == ENOENT) return Refused(path, "there is no such directory");
  if (::lstat(path.c_str(), &stat) == 0 && S_ISLNK(stat.st_mode)) {
    return Refused(path, "it is a link; name the directory itself");
  }
  if (why == ENOTDIR) return Refused(path, "it is not a directory");
  return Error::FromErrno(why, "cannot mount " + path);
}

// Returns the ancestry of a file: itself, then its parent directories. A mount cannot be inside it,
// but may contain it, or the place where it will be created.
Result<std::vector<Identity>> FileAncestry(const std::string& path) {
  const std::filesystem::path file(path);
  const UniqueFd directory(
      ::open((file.parent_path() / ".").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() && errno == ENOENT) return std::vector<Identity>();
  if (!directory.is_open()) return Error::FromErrno(errno, "find its directory");
  TRY_ASSIGN(std::vector<Identity> ancestry, Ancestry(directory));
  const UniqueFd opened(::open(path.c_str(), O_PATH | O_CLOEXEC));
  Identity identity;
  if (opened.is_open()) {
    TRY_ASSIGN(identity, IdentityOf(opened));
  } else if (errno != ENOENT) {
    return Error::FromErrno(errno, "open");
  }
  ancestry.insert(ancestry.begin(), identity);
  return ancestry;
}

struct HiddenPlace {
  std::string path;
  std::vector<Identity> ancestry;
};

// Returns the places that must not be shown.
Result<std::vector<HiddenPlace>> Hidden(std::span<const std::string> hidden) {
  std::vector<std::string> paths(std::begin(kKernelsOwn), std::end(kKernelsOwn));
  paths.insert(paths.end(), hidden.begin(), hidden.end());
  std::vector<HiddenPlace> places;
  for (const std::string& path : paths) {
    const UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const bool is_file = !directory.is_open() && (errno == ENOENT || errno == ENOTDIR);
    if (!directory.is_open() && !is_file) return Error::FromErrno(errno, "look at " + path);
    auto ancestry = is_file ? FileAncestry(path) : Ancestry(directory);
    if (!ancestry) return std::move(ancestry).error().Context("look at " + path);
    if (!ancestry->empty()) places.push_back({path, *std::move(ancestry)});
  }
  return places;
}

// The mounts of a cell. Each new one must be compatible with the earlier ones.
class MountTable {
 public:
  static Result<MountTable> Make(std::span<const std::string> hidden) {
    MountTable table;
    TRY_ASSIGN(table.hidden_, Hidden(hidden));
    return table;
  }

  Result<void> Add(MountSpec spec) {
    TRY(TakeGuestPath(spec.point.guest_path));
    TRY_ASSIGN(UniqueFd directory, OpenRoot(spec.host));
    auto ancestry = Ancestry(directory);
    if (!ancestry) {
      return std::move(ancestry).error().Context("cannot mount " + spec.host + " at " +
                                                 spec.point.guest_path);
    }
    TRY(CheckPlace(spec.host, *ancestry));
    TRY_ASSIGN(const DirectoryId id, IdOf(directory));
    ancestries_.push_back(*std::move(ancestry));
    mounts_.push_back({.point = std::move(spec.point),
                       .host = std::move(spec.host),
                       .directory = std::move(directory),
                       .id = id});
    return {};
  }

  std::vector<Mount> Take() && { return std::move(mounts_); }

 private:
  Result<void> TakeGuestPath(const std::string& path) {
    TRY(CheckGuestPath(path));
    for (const std::string& taken : guest_paths_) {
      if (Overlap(path, taken)) return Refused("at " + path, "it overlaps the mount at " + taken);
    }
    guest_paths_.push_back(path);
    return {};
  }

  Result<void> CheckPlace(const std::string& host, const std::vector<Identity>& ancestry) const {
    if (ancestry.size() == 1) return Refused(host, "it is the root of the file system");
    for (const HiddenPlace& place : hidden_) {
      if (Overlap(ancestry, place.ancestry)) {
        return Refused(host,
                       "it is, contains or is inside " + place.path + ", which must not be shown");
      }
    }
    for (std::size_t i = 0; i < mounts_.size(); ++i) {
      if (Overlap(ancestry, ancestries_[i])) {
        return Refused(host, "it overlaps " + mounts_[i].host + ", which is mounted too");
      }
    }
    return {};
  }

  std::vector<HiddenPlace> hidden_;
  std::vector<std::string> guest_paths_;
  std::vector<Mount> mounts_;
  std::vector<std::vector<Identity>> ancestries_;  // The ancestry of each mount.
};

}  // namespace

Result<MountSpec> ParseMount(std::string_view text) {
  static constexpr std::pair<std::string_view, MountMode> kModes[] = {
      {"ro", MountMode::kReadOnly},
      {"rw", MountMode::kReadWrite},
      {"overlay", MountMode::kOverlay}};
  const auto bad = [&](std::string_view why) {
    return Error(ErrorCode::kInvalidArgument, "'" + std::string(text) +
                                                  "' is not a mount: " + std::string(why) +
                                                  " (HOST:GUEST[:ro|rw|overlay])");
  };
  MountSpec spec;
  std::string_view rest = text;
  std::size_t colon = rest.rfind(':');
  if (colon == rest.npos) return bad("it names no path in the cell");
  if (!rest.substr(colon + 1).starts_with('/')) {
    const auto* mode = std::ranges::find(kModes, rest.substr(colon + 1),
                                         [](const auto& known) { return known.first; });
    if (mode == std::end(kModes)) {
      const bool names_path = rest.substr(0, colon).find(":/") != rest.npos;
      return bad(names_path ? "its mode must be ro, rw or overlay"
                            : "its path in the cell is not absolute");
    }
    spec.point.mode = mode->second;
    rest = rest.substr(0, colon);
    colon = rest.rfind(':');
  }
  if (colon == rest.npos || !rest.substr(colon + 1).starts_with('/')) {
    return bad("its path in the cell is not absolute");
  }
  if (colon == 0) return bad("it names no directory of the host");
  spec.host = rest.substr(0, colon);
  spec.point.guest_path = rest.substr(colon + 1);
  std::string& guest = spec.point.guest_path;
  if (guest.size() > 1 && guest.ends_with('/')) guest.pop_back();
  TRY(CheckGuestPath(spec.point.guest_path));
  return spec;
}

Result<std::vector<Mount>> OpenMounts(std::vector<MountSpec> specs,
                                      std::span<const std::string> hidden) {
  TRY_ASSIGN(MountTable table, MountTable::Make(hidden));
  for (MountSpec& spec : specs) TRY(table.Add(std::move(spec)));
  return std::move(table).Take();
}

std::vector<Result<void>> CheckMounts(std::vector<MountSpec> specs,
                                      std::span<const std::string> hidden) {
  std::vector<Result<void>> judged;
  auto table = MountTable::Make(hidden);
  for (MountSpec& spec : specs) {
    judged.push_back(table ? table->Add(std::move(spec)) : Result<void>(table.error()));
  }
  return judged;
}

}  // namespace caisson::workspace
