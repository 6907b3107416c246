#include "engine/native/captured_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/host/cell_protocol.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxPathBytes = 4095;
// Maximum number of entries examined. The file system of a cell has fewer inodes, unless the report
// is false.
constexpr std::size_t kMaxEntries = 1u << 20;
constexpr std::size_t kReadAtOnce = 1u << 20;
constexpr const char* kUnreadable = "it cannot be read";
constexpr const char* kNoFile = "neither a file nor a directory";
constexpr const char* kTooLong = "its path is too long";

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

UniqueFd TryOpen(const UniqueFd& root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
}

// The run may have set any modes. They restrict only the owner, which is this process now.
UniqueFd OpenBeneath(const UniqueFd& root, const std::string& path, int flags) {
  // Non-blocking; otherwise opening a FIFO would wait for its writer.
  flags |= O_RDONLY | O_NONBLOCK | O_NOCTTY;
  UniqueFd opened = TryOpen(root, path, flags);
  if (opened.is_open() || errno != EACCES) return opened;
  const UniqueFd found = TryOpen(root, path, O_PATH);
  struct stat status{};
  if (!found.is_open() || ::fstat(found.get(), &status) != 0 ||
      (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) {
    return {};
  }
  const std::string self = "/proc/self/fd/" + std::to_string(found.get());
  if (::chmod(self.c_str(), S_IRWXU) != 0) return {};
  return TryOpen(root, path, flags);
}

Directory ListBeneath(const UniqueFd& root, const std::string& path) {
  UniqueFd fd = OpenBeneath(root, path, O_DIRECTORY);
  if (!fd.is_open()) return nullptr;
  DIR* directory = ::fdopendir(fd.get());
  if (directory != nullptr) (void)fd.Release();
  return Directory(directory);
}

struct Found {
  std::string path;
  unsigned char type = DT_UNKNOWN;

  bool too_long() const { return path.size() > kMaxPathBytes; }
};

// Returns everything below `top`, a path below `root`, in path order.
std::vector<Found> Walk(const UniqueFd& root, const std::string& top) {
  std::vector<Found> found;
  std::vector<std::string> directories{top};
  while (!directories.empty()) {
    const std::string path = std::move(directories.back());
    directories.pop_back();
    const Directory directory = ListBeneath(root, path);
    if (directory == nullptr) continue;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own.
    while (const dirent* entry = ::readdir(directory.get())) {
      if (found.size() == kMaxEntries) return found;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      found.push_back(
          {.path = (path == "." ? "" : path + "/") + std::string(name), .type = entry->d_type});
      if (entry->d_type == DT_DIR && !found.back().too_long()) {
        directories.push_back(found.back().path);
      }
    }
  }
  std::ranges::sort(found, {}, &Found::path);
  return found;
}

// Returns whether overlayfs has this attribute on a file or directory of a layer.
bool HasNote(const UniqueFd& root, const std::string& path, const char* note) {
  const UniqueFd file = OpenBeneath(root, path, 0);
  return file.is_open() && ::fgetxattr(file.get(), note, nullptr, 0) >= 0;
}

bool MeansRemoved(const UniqueFd& root, const std::string& path) {
  const UniqueFd device = TryOpen(root, path, O_PATH);
  struct stat status{};
  return device.is_open() && ::fstat(device.get(), &status) == 0 && S_ISCHR(status.st_mode) &&
         status.st_rdev == ::makedev(0, 0);
}

}  // namespace

wire::Omitted FileCapture::Fits(std::uint64_t size) const {
  if (full()) return wire::Omitted::kFiles;
  if (size > start_.file_bytes) return wire::Omitted::kFileBytes;
  return size > start_.total_file_bytes - bytes_ ? wire::Omitted::kTotalFileBytes
                                                 : wire::Omitted::kNot;
}

OutcomeFile FileCapture::Open(const UniqueFd& root, const std::string& path, std::string shown_as) {
  OutcomeFile captured{.path = std::move(shown_as), .change = "created", .omitted = kUnreadable};
  ++files_;
  UniqueFd file = OpenBeneath(root, path, 0);
  struct stat status{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return captured;
  }
  captured.size = static_cast<std::uint64_t>(status.st_size);
  const wire::Omitted omitted = Fits(captured.size);
  if (omitted != wire::Omitted::kNot) {
    captured.omitted = Explain(omitted);
    return captured;
  }
  bytes_ += captured.size;
  captured.contents.reserve(captured.size);
  captured.omitted.clear();
  open_ = std::move(file);
  return captured;
}

bool FileCapture::ReadMore(OutcomeFile& file) {
  const std::size_t at = file.contents.size();
  const std::size_t wanted = std::min<std::size_t>(file.size - at, kReadAtOnce);
  ssize_t count = 0;
  // Without filling the text with zeros first.
  file.contents.resize_and_overwrite(at + wanted, [&](char* bytes, std::size_t) {
    count = wanted == 0 ? 0 : ::read(open_.get(), bytes + at, wanted);
    return at + static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  });
  if (file.contents.size() < file.size) {
    if (count > 0) return false;
    bytes_ -= file.size;  // Its size is not as reported.
    file.contents = {};
    file.omitted = kUnreadable;
  }
  open_ = {};
  return true;
}

void FileCapture::ListOutput(const UniqueFd& root) {
  for (Found& found : Walk(root, "output")) {
    if (found.type == DT_REG && !found.too_long()) output_.push_back(std::move(found.path));
  }
}

std::optional<OutcomeFile> FileCapture::ReadOutput(const UniqueFd& root) {
  if (done()) return std::nullopt;
  if (!open_.is_open()) {
    const std::string path = std::move(output_.front());
    output_.pop_front();
    reading_ = Open(root, path, "/" + path);
  }
  if (open_.is_open() && !ReadMore(reading_)) return std::nullopt;
  return std::move(reading_);
}

void FileCapture::AddLayer(const UniqueFd& layer, std::uint32_t mount,
                           const std::string& guest_path, std::vector<LayerEntry>& entries) {
  using Kind = LayerEntry::Kind;
  for (const Found& found : Walk(layer, ".")) {
    if (full()) return;
    LayerEntry& entry = entries.emplace_back(LayerEntry{.mount = mount, .path = found.path});
    const std::string shown_as = guest_path + "/" + found.path;
    if (found.too_long()) {
      entry.file = {.path = shown_as, .change = "created", .omitted = kTooLong};
    } else if (found.type == DT_REG) {
      entry.copied = HasNote(layer, found.path, "user.overlay.origin");
      entry.file = Open(layer, found.path, shown_as);
      while (open_.is_open() && !ReadMore(entry.file)) continue;
    } else if (found.type == DT_DIR) {
      entry.kind = Kind::kDirectory;
      entry.opaque = HasNote(layer, found.path, "user.overlay.opaque");
    } else if (found.type == DT_CHR && MeansRemoved(layer, found.path)) {
      entry.kind = Kind::kRemoved;
    } else {
      entry.file = {.path = shown_as, .change = "created", .omitted = kNoFile};
    }
  }
}

}  // namespace caisson
