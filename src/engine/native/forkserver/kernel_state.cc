#include "engine/native/forkserver/kernel_state.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "engine/native/forkserver/private_tree.h"
#include "jail/become.h"

namespace caisson::forkserver {
namespace {

constexpr int kSignals = 64;
constexpr int kDescriptors = jail::kSuccessor + 1;  // No cell has more.
constexpr std::array<__itimer_which, 3> kTimers = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

struct Fixed {
  mode_t mode_mask;
  std::array<struct sigaction, kSignals + 1> actions;
  std::array<itimerval, kTimers.size()> timers;
  stack_t signal_stack;
  std::uint32_t descriptors;
  std::array<char, PATH_MAX> directory;
};

enum class Kind : std::uint32_t {
  kFile,    // Opened again by its path.
  kOut,     // The pipe for stdout, whatever its number.
  kErr,     // The pipe for stderr.
  kSameAs,  // A copy of another descriptor: they share their position.
};

struct Descriptor {
  int number;
  Kind kind;
  int flags;     // As for open().
  int fd_flags;  // FD_CLOEXEC.
  int same_as;
  std::uint32_t path_length;
  std::int64_t position;
};

Error Refused(std::string why) {
  return Error(ErrorCode::kFailedPrecondition, std::move(why));
}

// ---- Recording ----

char* ProbePage(Scratch& scratch, std::size_t probe) {
  return scratch.probe_pages.data() + probe * kPageBytes;
}

// Records descriptors one by one. Unreadable files in the private tree are resolved when the tree
// is walked.
class Notes final : public TreeVisitor {
 public:
  Notes(const ProcessMapReader& process_map, Scratch& scratch)
      : process_map_(process_map), scratch_(scratch) {}

  Result<void> Add(int number) {
    struct stat status{};
    Descriptor descriptor = Describe(number);
    if (descriptor.flags < 0 || ::fstat(number, &status) != 0) return {};  // Not open.
    if (S_ISFIFO(status.st_mode)) return AddPipe(descriptor, status.st_ino);
    if (S_ISCHR(status.st_mode)) return AddDevice(descriptor, status.st_rdev);
    if (S_ISDIR(status.st_mode)) return AddDirectory(descriptor);
    if (S_ISREG(status.st_mode)) return AddFile(descriptor, status);
    return Refused(Named(number) +
                   " is a socket or the like, which cannot be copied; close it first");
  }

  // Call it when all were added: finds the names that are still missing.
  Result<void> Finish() {
    if (waiting_ == 0) return {};
    RawWriter nowhere(scratch_, -1, wire::ToHost::kSaved, RawWriter::Mode::kCount);
    TRY(WritePrivateTree(nowhere, this));
    for (const int number : std::span(waits_).first(waiting_)) {
      if (number >= 0) return Unnamed(number);
    }
    return {};
  }

  std::uint32_t count() const { return count_; }
  std::uint32_t bytes() const { return static_cast<std::uint32_t>(filled_); }
  Kind out = Kind::kFile;  // What descriptors 1 and 2 are.
  Kind err = Kind::kFile;

 private:
  static Descriptor Describe(int number) {
    return {.number = number,
            .kind = Kind::kFile,
            .flags = ::fcntl(number, F_GETFL),
            .fd_flags = ::fcntl(number, F_GETFD),
            .same_as = -1,
            .path_length = 0,
            .position = 0};
  }
  static std::string Named(int number) { return "descriptor " + std::to_string(number); }
  static Error Unnamed(int number) {
    return Refused(
        Named(number) +
        " is a file that has no name any more, so it cannot be opened again; close it first");
  }

  Result<void> AddPipe(Descriptor descriptor, std::uint64_t inode) {
    const bool is_out = inode == process_map_.stdout_inode();
    if (!is_out && inode != process_map_.stderr_inode()) {
      return Refused(Named(descriptor.number) +
                     " is a pipe, which cannot be copied; close it first");
    }
    descriptor.kind = is_out ? Kind::kOut : Kind::kErr;
    if (descriptor.number == STDOUT_FILENO) out = descriptor.kind;
    if (descriptor.number == STDERR_FILENO) err = descriptor.kind;
    return Append(descriptor, nullptr);
  }

  // Identified by its device number: stdin of a cell with mounts was opened before it had its root,
  // and has no name in it.
  Result<void> AddDevice(const Descriptor& descriptor, dev_t device) {
    for (const char* path : {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"}) {
      struct stat named{};
      if (::stat(path, &named) == 0 && named.st_rdev == device) return Append(descriptor, path);
    }
    return Refused(Named(descriptor.number) + " is a device that cannot be opened again");
  }

  Result<void> AddDirectory(const Descriptor& descriptor) {
    std::array<char, PATH_MAX> path{};
    const bool is_named = ::fchdir(descriptor.number) == 0 &&
                          ::getcwd(path.data(), path.size()) != nullptr && path[0] == '/';
    if (::chdir(fixed().directory.data()) != 0 || !is_named) return Unnamed(descriptor.number);
    if (::lseek(descriptor.number, 0, SEEK_CUR) != 0) {
      return Refused(Named(descriptor.number) + " is halfway through the directory " + path.data() +
                     "; close what lists it first");
    }
    return Append(descriptor, path.data());
  }

  Result<void> AddFile(Descriptor& descriptor, const struct stat& status) {
    if (status.st_nlink == 0) return Unnamed(descriptor.number);
    std::array<char, PATH_MAX> path{};
    if (FindProbed(descriptor.number, path)) {
      struct stat named{};
      if (::lstat(path.data(), &named) != 0 || named.st_dev != status.st_dev ||
          named.st_ino != status.st_ino) {
        return Unnamed(descriptor.number);
      }
      return AppendFile(descriptor, status, path.data());
    }
    if (waiting_ == waits_.size()) return TooMany();
    waits_[waiting_++] = descriptor.number;
    return {};
  }

  bool FindProbed(int number, std::array<char, PATH_MAX>& path) const {
    const auto probed = std::span(scratch_.probed).first(scratch_.probes);
    const auto found = std::ranges::find(probed, number);
    if (found == probed.end()) return false;
    const auto page =
        AddressOf(ProbePage(scratch_, static_cast<std::size_t>(found - probed.begin())));
    return !process_map_.ForEachMapping(
        [&](const wire::ProcessMapEntry& mapping, std::string_view name) {
          if (page < mapping.begin || page >= mapping.end || name.size() >= path.size())
            return true;
          std::memcpy(path.data(), name.data(), name.size());
          return false;
        });
  }

  Result<void> See(const struct stat& status, const char* path) override {
    for (int& number : std::span(waits_).first(waiting_)) {
      struct stat waits{};
      if (number < 0 || ::fstat(number, &waits) != 0 || waits.st_ino != status.st_ino ||
          waits.st_dev != status.st_dev) {
        continue;
      }
      Descriptor descriptor = Describe(number);
      TRY(AppendFile(descriptor, status, path));
      number = -1;
    }
    return {};
  }

  Result<void> AppendFile(Descriptor& descriptor, const struct stat& status, const char* path) {
    descriptor.position = ::lseek(descriptor.number, 0, SEEK_CUR);
    FindTwin(descriptor, status);
    return Append(descriptor, path);
  }

  // Finds descriptors that dup() made: they share a position.
  void FindTwin(Descriptor& descriptor, const struct stat& status) const {
    const char* at = scratch_.state.data() + sizeof(Fixed);
    for (std::uint32_t i = 0; i < count_; ++i) {
      Descriptor other;
      std::memcpy(&other, at, sizeof other);
      at += sizeof other + other.path_length;
      struct stat others{};
      if (other.kind != Kind::kFile || ::fstat(other.number, &others) != 0 ||
          others.st_ino != status.st_ino || others.st_dev != status.st_dev) {
        continue;
      }
      ::lseek(other.number, descriptor.position + 1, SEEK_SET);
      const bool moves_along = ::lseek(descriptor.number, 0, SEEK_CUR) == descriptor.position + 1;
      ::lseek(other.number, moves_along ? descriptor.position : other.position, SEEK_SET);
      if (!moves_along) continue;
      descriptor.kind = Kind::kSameAs;
      descriptor.same_as = other.number;
      return;
    }
  }

  static Error TooMany() { return Refused("the session has too many files open to be copied"); }

  Result<void> Append(Descriptor descriptor, const char* path) {
    if (path != nullptr) {
      descriptor.path_length = static_cast<std::uint32_t>(std::strlen(path) + 1);
    }
    if (scratch_.state.size() - filled_ < sizeof descriptor + descriptor.path_length) {
      return TooMany();
    }
    std::memcpy(scratch_.state.data() + filled_, &descriptor, sizeof descriptor);
    filled_ += sizeof descriptor;
    if (path != nullptr) {
      std::memcpy(scratch_.state.data() + filled_, path, descriptor.path_length);
    }
    filled_ += descriptor.path_length;
    ++count_;
    return {};
  }

  const Fixed& fixed() const { return *reinterpret_cast<const Fixed*>(scratch_.state.data()); }

  const ProcessMapReader& process_map_;
  Scratch& scratch_;
  std::size_t filled_ = sizeof(Fixed);
  std::uint32_t count_ = 0;
  std::array<int, 64> waits_{};  // -1: found.
  std::size_t waiting_ = 0;
};

Result<void> RequireNoChildren() {
  siginfo_t info{};
  // Zombies count: code that waits for them would wait for ever in the copy.
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return {};
  return Refused("the session has child processes, and they cannot be copied; wait for them first");
}

Result<void> NoteDescriptors(int socket, Notes& notes) {
  for (int number = 0; number < kDescriptors; ++number) {
    if (number != socket) TRY(notes.Add(number));
  }
  TRY(notes.Finish());
  const bool cross = notes.out == Kind::kErr || notes.err == Kind::kOut;
  if (cross && (notes.out == Kind::kFile || notes.err == Kind::kFile || notes.out != notes.err)) {
    return Refused("stdout and stderr have changed places; undo that first");
  }
  return {};
}

// ---- Applying ----

struct Noted {
  Descriptor descriptor{};
  const char* path = nullptr;
};

Error Lost(const Noted& noted) {
  return Error::FromErrno(errno, std::string("open ") + noted.path + " again");
}

Result<void> Place(int fd, int number, int fd_flags) {
  if (fd < 0 || number < 0 || (fd != number && ::dup2(fd, number) < 0) ||
      ::fcntl(number, F_SETFD, fd_flags) != 0) {
    return Error::FromErrno(errno, "place descriptor " + std::to_string(number));
  }
  return {};
}

Result<void> OpenAgain(const Noted& noted) {
  const Descriptor& wanted = noted.descriptor;
  const int fd = ::open(noted.path, (wanted.flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NOFOLLOW);
  if (fd < 0) return Lost(noted);
  if (wanted.position > 0 && ::lseek(fd, wanted.position, SEEK_SET) < 0) return Lost(noted);
  TRY(Place(fd, wanted.number, wanted.fd_flags));
  if (fd != wanted.number) ::close(fd);
  return {};
}

// `visit` returns a Result<void>.
template <typename Visit>
Result<void> ForEachNoted(const Scratch& scratch, std::uint32_t count, Visit visit) {
  const char* at = scratch.state.data() + sizeof(Fixed);
  const char* const end = scratch.state.data() + scratch.state_bytes;
  for (std::uint32_t i = 0; i < count; ++i) {
    Noted noted;
    if (end - at < static_cast<std::ptrdiff_t>(sizeof noted.descriptor))
      return Refused("bad state");
    std::memcpy(&noted.descriptor, at, sizeof noted.descriptor);
    noted.path = at + sizeof noted.descriptor;
    at = noted.path + noted.descriptor.path_length;
    TRY(visit(noted));
  }
  return {};
}

Result<void> ApplyDescriptors(const Scratch& scratch, std::uint32_t count) {
  // Pipes first, while 1 and 2 are still unchanged.
  std::array<bool, 3> has{};
  TRY(ForEachNoted(scratch, count, [&](const Noted& noted) -> Result<void> {
    const auto& [number, kind, flags, fd_flags, same_as, length, position] = noted.descriptor;
    if (number >= 0 && number < 3) has[static_cast<std::size_t>(number)] = true;
    if (kind != Kind::kOut && kind != Kind::kErr) return {};
    return Place(kind == Kind::kOut ? STDOUT_FILENO : STDERR_FILENO, number, fd_flags);
  }));
  TRY(ForEachNoted(scratch, count, [](const Noted& noted) -> Result<void> {
    return noted.descriptor.kind == Kind::kFile ? OpenAgain(noted) : Result<void>();
  }));
  TRY(ForEachNoted(scratch, count, [](const Noted& noted) -> Result<void> {
    const Descriptor& wanted = noted.descriptor;
    if (wanted.kind != Kind::kSameAs) return {};
    return Place(wanted.same_as, wanted.number, wanted.fd_flags);
  }));
  for (int number = 0; number < 3; ++number) {
    if (!has[static_cast<std::size_t>(number)]) ::close(number);
  }
  return {};
}

}  // namespace

void ProbeOpenFiles(Scratch& scratch) {
  scratch.probes = 0;
  for (int number = 0; number < kDescriptors && scratch.probes < scratch.probed.size(); ++number) {
    struct stat status{};
    if (::fstat(number, &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const void* page = ::mmap(ProbePage(scratch, scratch.probes), kPageBytes, PROT_READ,
                              MAP_PRIVATE | MAP_FIXED, number, 0);
    // Otherwise it cannot be read.
    if (page != MAP_FAILED) scratch.probed[scratch.probes++] = number;
  }
}

Result<void> NoteKernelState(const ProcessMapReader& process_map, int socket, Scratch& scratch) {
  TRY(RequireNoChildren());
  auto& fixed = *new (scratch.state.data()) Fixed;
  fixed.mode_mask = ::umask(0);
  ::umask(fixed.mode_mask);
  for (int signal = 1; signal <= kSignals; ++signal) {
    ::sigaction(signal, nullptr, &fixed.actions[static_cast<std::size_t>(signal)]);
  }
  for (std::size_t i = 0; i < kTimers.size(); ++i) ::getitimer(kTimers[i], &fixed.timers[i]);
  ::sigaltstack(nullptr, &fixed.signal_stack);
  if (::getcwd(fixed.directory.data(), fixed.directory.size()) == nullptr ||
      fixed.directory[0] != '/') {
    return Refused("the session's working directory is not there any more; go to another first");
  }
  Notes notes(process_map, scratch);
  TRY(NoteDescriptors(socket, notes));
  fixed.descriptors = notes.count();
  scratch.state_bytes = notes.bytes();
  return {};
}

Result<void> ApplyKernelState(const Scratch& scratch) {
  const auto& fixed = *reinterpret_cast<const Fixed*>(scratch.state.data());
  TRY(ApplyDescriptors(scratch, fixed.descriptors));
  if (::chdir(fixed.directory.data()) != 0) return Error::FromErrno(errno, "go to its directory");
  ::umask(fixed.mode_mask);
  ::sigaltstack(&fixed.signal_stack, nullptr);
  for (int signal = 1; signal <= kSignals; ++signal) {
    ::sigaction(signal, &fixed.actions[static_cast<std::size_t>(signal)], nullptr);
  }
  for (std::size_t i = 0; i < kTimers.size(); ++i)
    ::setitimer(kTimers[i], &fixed.timers[i], nullptr);
  return {};
}

}  // namespace caisson::forkserver
