#include "engine/native/forkserver/private_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "engine/native/forkserver/library.h"

namespace caisson::forkserver {
namespace {

constexpr int kMostLevels = 64;

enum class Kind : std::uint32_t {
  kEnd,
  kDirectory,
  kFile,  // Its contents follow.
  kLink,  // Its target follows.
  kStamp  // The directory is complete: its mode and times.
};

struct Entry {
  Kind kind;
  std::uint32_t mode;
  std::uint64_t size;
  std::array<timespec, 2> times;  // Last access, last change.
  std::uint32_t path_length;
  std::uint32_t reserved;
};

Error Refused(const char* path, const char* why) {
  return Error(ErrorCode::kFailedPrecondition, std::string(path) + " " + why);
}

// ---- Writing ----

// Walks with descriptors and one path, because it cannot use the heap.
class Writer {
 public:
  Writer(RawWriter& out, TreeVisitor* visitor) : out_(out), visitor_(visitor) {}

  Result<void> WriteAll() {
    for (const char* name : kPrivateDirectories) {
      path_[0] = '/';
      length_ = 1;
      struct stat root{};
      if (!Push(name)) continue;
      if (::lstat(path_.data(), &root) != 0) continue;
      device_ = root.st_dev;
      TRY(WriteBelow(1));
    }
    Put(Kind::kEnd, {}, 0);
    return {};
  }

 private:
  // Appends a name to the path. Returns false if it is too long.
  bool Push(const char* name) {
    const std::size_t size = std::strlen(name);
    const bool needs_slash = length_ > 1;
    if (length_ + needs_slash + size >= path_.size()) return false;
    if (needs_slash) path_[length_++] = '/';
    std::memcpy(path_.data() + length_, name, size + 1);
    length_ += size;
    return true;
  }

  void Put(Kind kind, const struct stat& status, std::uint64_t size) {
    const bool is_named = kind != Kind::kEnd;
    out_.Put(Entry{.kind = kind,
                   .mode = status.st_mode & 07777,
                   .size = size,
                   .times = {status.st_atim, status.st_mtim},
                   .path_length = is_named ? static_cast<std::uint32_t>(length_) : 0,
                   .reserved = 0});
    if (is_named) out_.Put(path_.data(), length_);
  }

  // Writes everything below the directory that the path names.
  Result<void> WriteBelow(int level) {
    if (level > kMostLevels) return Refused(path_.data(), "is too deep to be copied");
    const UniqueFd directory(::open(path_.data(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory.is_open())
      return Refused(path_.data(), "cannot be read, so it cannot be copied");
    const std::size_t length = length_;
    alignas(dirent64) std::array<char, 2048> buffer;
    while (true) {
      const ssize_t got = ::getdents64(directory.get(), buffer.data(), buffer.size());
      if (got < 0) return Error::FromErrno(errno, "list " + std::string(path_.data()));
      if (got == 0) return {};
      for (ssize_t at = 0; at < got;) {
        const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
        at += entry->d_reclen;
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (!Push(entry->d_name)) return Refused(path_.data(), "has names that are too long");
        TRY(WriteOne(level));
        length_ = length;
        path_[length_] = '\0';
      }
    }
  }

  Result<void> WriteOne(int level) {
    struct stat status{};
    if (::lstat(path_.data(), &status) != 0) return Error::FromErrno(errno, path_.data());
    if (status.st_dev != device_) return {};  // A mount, which the other cell has too.
    if (visitor_ != nullptr) TRY(visitor_->See(status, path_.data()));
    if (S_ISDIR(status.st_mode)) {
      Put(Kind::kDirectory, status, 0);
      TRY(WriteBelow(level + 1));
      Put(Kind::kStamp, status, 0);
      return {};
    }
    if (S_ISLNK(status.st_mode)) return WriteLink(status);
    if (!S_ISREG(status.st_mode)) return Refused(path_.data(), "is no file that can be copied");
    if (status.st_nlink > 1) {
      return Refused(path_.data(), "has a second name (a hard link), which cannot be copied");
    }
    return WriteFile(status);
  }

  Result<void> WriteLink(const struct stat& status) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlink(path_.data(), target.data(), target.size());
    if (size < 0) return Error::FromErrno(errno, path_.data());
    Put(Kind::kLink, status, static_cast<std::uint64_t>(size));
    out_.Put(target.data(), static_cast<std::size_t>(size));
    return {};
  }

  Result<void> WriteFile(const struct stat& status) {
    const UniqueFd file(::open(path_.data(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.is_open()) return Refused(path_.data(), "cannot be read, so it cannot be copied");
    auto left = static_cast<std::uint64_t>(status.st_size);
    Put(Kind::kFile, status, left);
    if (out_.counts_only()) {
      out_.Put(nullptr, left);
      return {};
    }
    std::array<char, 16384> buffer;
    while (left > 0) {
      const std::size_t part = std::min<std::uint64_t>(left, buffer.size());
      const ssize_t got = ::read(file.get(), buffer.data(), part);
      // No process changes it; but the announced length must be sent in any case.
      if (got <= 0) std::memset(buffer.data(), 0, part);
      const std::size_t size = got > 0 ? static_cast<std::size_t>(got) : part;
      out_.Put(buffer.data(), size);
      left -= size;
    }
    return {};
  }

  RawWriter& out_;
  TreeVisitor* const visitor_;
  std::array<char, PATH_MAX> path_{};
  std::size_t length_ = 0;
  dev_t device_ = 0;
};

// ---- Making ----

Error Malformed() {
  return Error(ErrorCode::kInvalidArgument, "the files of an image make no sense");
}

Result<void> Stamp(const std::string& path, const Entry& entry) {
  if (::chmod(path.c_str(), entry.mode) != 0 ||
      ::utimensat(AT_FDCWD, path.c_str(), entry.times.data(), AT_SYMLINK_NOFOLLOW) != 0) {
    return Error::FromErrno(errno, "set mode and times of " + path);
  }
  return {};
}

Result<void> MakeFile(const std::string& path, const Entry& entry, RawReader& in) {
  {
    const UniqueFd file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return Error::FromErrno(errno, "make " + path);
    std::array<char, 16384> buffer;
    for (std::uint64_t left = entry.size; left > 0;) {
      const std::size_t part = std::min<std::uint64_t>(left, buffer.size());
      if (!in.Read(buffer.data(), part)) return Malformed();
      if (::write(file.get(), buffer.data(), part) != static_cast<ssize_t>(part)) {
        return Error::FromErrno(errno, "write " + path);
      }
      left -= part;
    }
  }
  return Stamp(path, entry);
}

Result<void> MakeLink(const std::string& path, const Entry& entry, RawReader& in) {
  if (entry.size >= PATH_MAX) return Malformed();
  std::string target(entry.size, '\0');
  if (!in.Read(target.data(), target.size())) return Malformed();
  if (::symlink(target.c_str(), path.c_str()) != 0) return Error::FromErrno(errno, "make " + path);
  return {};
}

Result<void> MakeOne(const std::string& path, const Entry& entry, RawReader& in) {
  switch (entry.kind) {
    case Kind::kDirectory:
      // It may already exist, on the way to a mount.
      if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
      return Error::FromErrno(errno, "make " + path);
    case Kind::kFile:
      return MakeFile(path, entry, in);
    case Kind::kLink:
      return MakeLink(path, entry, in);
    case Kind::kStamp:
      return Stamp(path, entry);
    case Kind::kEnd:
      break;
  }
  return Malformed();
}

}  // namespace

Result<void> WritePrivateTree(RawWriter& out, TreeVisitor* visitor) {
  return Writer(out, visitor).WriteAll();
}

Result<void> MakePrivateTree(RawReader& in) {
  while (true) {
    Entry entry;
    if (!in.Take(entry)) return Malformed();
    if (entry.kind == Kind::kEnd) return {};
    if (entry.path_length >= PATH_MAX) return Malformed();
    std::string path(entry.path_length, '\0');
    if (!in.Read(path.data(), path.size())) return Malformed();
    TRY(MakeOne(path, entry, in));
  }
}

}  // namespace caisson::forkserver
