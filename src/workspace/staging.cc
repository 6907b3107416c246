#include "workspace/staging.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "workspace/beneath.h"

namespace caisson::workspace {
namespace {

constexpr ::mode_t kFileMode = 0666;  // The user's umask decides.
constexpr ::mode_t kDirectoryMode = 0777;
constexpr ::mode_t kPlainMode = 0777;  // Without set-user-ID: a guest wrote the contents.
constexpr ::uid_t kUnchanged = static_cast<::uid_t>(-1);
constexpr const char* kManifest = "manifest";
constexpr std::size_t kMaxManifestBytes = 64u << 20;
constexpr int kNameTries = 8;

using Wanted = WantedChange::Wanted;

Error Conflict(const std::string& path, std::string_view what) {
  return {ErrorCode::kFailedPrecondition, path + ' ' + std::string(what)};
}

std::optional<struct ::stat> StatOf(const UniqueFd& directory, const std::string& name) {
  struct ::stat stat{};
  if (::fstatat(directory.get(), name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return stat;
}

// The parent directory of a path, and its last component.
struct Slot {
  UniqueFd directory;
  std::string name;
};

Result<Slot> SlotOf(const UniqueFd& root, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  Slot slot{.directory = OpenBeneath(root, slash == path.npos ? "" : path.substr(0, slash),
                                     O_PATH | O_DIRECTORY),
            .name = path.substr(slash == path.npos ? 0 : slash + 1)};
  if (!slot.directory.is_open()) return Conflict(path, "has lost its directory on the host");
  return slot;
}

// A directory's version changes with its contents, so only its inode counts.
bool IsExpected(const struct ::stat& stat, const wire::FileVersion& expected) {
  if (S_ISDIR(stat.st_mode)) return stat.st_ino == expected.inode;
  return S_ISREG(stat.st_mode) && VersionOf(stat) == expected;
}

bool IsOurs(std::string_view path) {
  return path.starts_with(kReservedPrefix);
}

std::string_view KindOf(const struct ::stat& stat) {
  if (S_ISLNK(stat.st_mode)) return "a link";
  if (S_ISFIFO(stat.st_mode)) return "a pipe";
  if (S_ISSOCK(stat.st_mode)) return "a socket";
  return "a device";
}

// The error for a path that differs from what the run found. It may hold a kind of file that runs
// are not shown.
Error Unexpected(const std::string& path, const std::optional<struct ::stat>& now,
                 std::string_view otherwise = "was changed on the host during the run") {
  if (!now || S_ISREG(now->st_mode) || S_ISDIR(now->st_mode)) return Conflict(path, otherwise);
  return Conflict(path, "is " + std::string(KindOf(*now)) + " on the host, and left alone");
}

// Sets the owner and group to those of `owner`, and then the mode. A process that is not root
// cannot give files away: it stays the owner, and sets the group if it is a member.
Result<void> Settle(const UniqueFd& staged, const struct ::stat& owner, ::mode_t mode) {
  if (::fchown(staged.get(), owner.st_uid, owner.st_gid) != 0) {
    if (errno != EPERM && errno != EINVAL) return Error::FromErrno(errno, "set the owner");
    static_cast<void>(!::fchown(staged.get(), kUnchanged, owner.st_gid));
  }
  if (::fchmod(staged.get(), mode) != 0) return Error::FromErrno(errno, "set the mode");
  return {};
}

template <typename Each>
void ForEachEntry(const UniqueFd& directory, Each each) {
  UniqueFd opened = OpenBeneath(directory, "", O_RDONLY | O_DIRECTORY);
  if (!opened.is_open()) return;
  const std::unique_ptr<DIR, decltype(&::closedir)> stream(::fdopendir(::dup(opened.get())),
                                                           &::closedir);
  if (stream == nullptr) return;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") each(name);
  }
}

Result<void> WriteAll(const UniqueFd& file, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t n = ::write(file.get(), contents.data(), contents.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::FromErrno(errno, "write");
    contents.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) != 0) return Error::FromErrno(errno, "fsync");
  return {};
}

}  // namespace

// ---- Preparing ----

Result<Staging> Staging::Prepare(const UniqueFd& root, const std::vector<WantedChange>& changes) {
  Staging staging(root);
  staging.versions_.resize(changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const WantedChange& change = changes[i];
    if (change.path.empty() || !IsPlainPath(change.path) || IsOurs(change.path)) {
      return Error(ErrorCode::kInvalidArgument, "'" + change.path + "' cannot be changed");
    }
    const bool there = change.expected.inode != 0;
    if (!there && std::ranges::count(change.path, '/') >= wire::kMaxMountDepth) {
      return Error(ErrorCode::kInvalidArgument,
                   change.path + " is nested too deeply: files are created below at most " +
                       std::to_string(wire::kMaxMountDepth - 1) + " directories of a mount");
    }
    if (!there && change.wanted == Wanted::kNothing) continue;
    if (there && change.wanted == Wanted::kDirectory) {
      staging.versions_[i] = change.expected;
      continue;
    }
    const Kind kind = change.wanted == Wanted::kNothing ? Kind::kTake
                      : there                           ? Kind::kExchange
                                                        : Kind::kInsert;
    staging.steps_.push_back({.kind = kind,
                              .path = change.path,
                              .inode = change.expected.inode,
                              .expected = change.expected,
                              .change = i});
  }
  // Removals come first, children before their directory. Additions follow, the directory before
  // its children.
  std::ranges::sort(staging.steps_, [](const Step& a, const Step& b) {
    const bool a_goes = a.kind == Kind::kTake;
    const bool b_goes = b.kind == Kind::kTake;
    if (a_goes != b_goes) return a_goes;
    return a_goes ? a.path > b.path : a.path < b.path;
  });
  TRY(staging.MakeDirectory());
  for (std::size_t i = 0; i < staging.steps_.size(); ++i) {
    TRY(staging.Stage(changes[staging.steps_[i].change], i));
  }
  TRY(staging.WriteManifest());
  return staging;
}

Result<void> Staging::MakeDirectory() {
  std::random_device chance;
  for (int i = 0; i < kNameTries; ++i) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%08x%08x", chance(), chance());
    const std::string name = std::string(kReservedPrefix) + digits;
    if (::mkdirat(root_->get(), name.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return Error::FromErrno(errno, "make a directory for staged files");
    }
    name_ = name;
    directory_ = OpenBeneath(*root_, name, O_RDONLY | O_DIRECTORY);
    struct ::stat stat{};
    if (!directory_.is_open() || ::flock(directory_.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::fstat(directory_.get(), &stat) != 0 || stat.st_nlink == 0) {
      continue;  // Another process removed it before it was locked.
    }
    return {};
  }
  name_.clear();
  return Error(ErrorCode::kUnavailable, "cannot make a directory for staged files");
}

Result<void> Staging::Stage(const WantedChange& change, std::size_t number) {
  Step& step = steps_[number];
  const std::string name = std::to_string(number);
  std::optional<struct ::stat> now;
  if (step.kind != Kind::kInsert) {
    // Checks early, so that an existing conflict changes nothing. Commit() checks again.
    TRY_ASSIGN(const Slot slot, SlotOf(*root_, step.path));
    now = StatOf(slot.directory, slot.name);
    if (!now || !IsExpected(*now, step.expected)) return Unexpected(step.path, now);
  }
  if (step.kind == Kind::kTake) return {};
  const bool is_directory = change.wanted == Wanted::kDirectory;
  if (is_directory && ::mkdirat(directory_.get(), name.c_str(), kDirectoryMode) != 0) {
    return Error::FromErrno(errno, "make " + step.path);
  }
  const UniqueFd made = is_directory
                            ? OpenBeneath(directory_, name, O_RDONLY | O_DIRECTORY)
                            : OpenBeneath(directory_, name, O_WRONLY | O_CREAT | O_EXCL, kFileMode);
  struct ::stat stat{};
  if (!made.is_open() || ::fstat(made.get(), &stat) != 0) {
    return Error::FromErrno(errno, "make " + step.path);
  }
  step.inode = stat.st_ino;
  auto done =
      now ? Settle(made, *now, now->st_mode & kPlainMode) : SettleNew(made, step.path, stat);
  if (done && !is_directory) done = WriteAll(made, change.contents);
  if (!done) return std::move(done).error().Context(step.path);
  return {};
}

// A new file gets the owner and group of its directory; if that is new too, of the next one above
// it.
Result<void> Staging::SettleNew(const UniqueFd& made, std::string path,
                                const struct ::stat& stat) const {
  struct ::stat parent{};
  bool is_found = false;
  while (!is_found) {
    if (path.empty()) return Error::FromErrno(errno, "look at the directory of the mount");
    const std::size_t slash = path.rfind('/');
    path.erase(slash == path.npos ? 0 : slash);
    const UniqueFd above = OpenBeneath(*root_, path, O_PATH | O_DIRECTORY);
    is_found = above.is_open() && ::fstat(above.get(), &parent) == 0;
  }
  // New directories inherit the set-group-ID bit.
  const ::mode_t passed_on = S_ISDIR(stat.st_mode) ? parent.st_mode & S_ISGID : 0;
  return Settle(made, parent, (stat.st_mode & kPlainMode) | passed_on);
}

// Writes for each step its kind, the inode and the path, ended by NUL: "X 1234 a/b.txt".
Result<void> Staging::WriteManifest() const {
  std::string text;
  for (const Step& step : steps_) {
    text += static_cast<char>(step.kind);
    text += ' ' + std::to_string(step.inode) + ' ' + step.path;
    text += '\0';
  }
  const UniqueFd file = OpenBeneath(directory_, kManifest, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file.is_open()) return Error::FromErrno(errno, "make a manifest");
  TRY(WriteAll(file, text));
  if (::fsync(directory_.get()) != 0) return Error::FromErrno(errno, "fsync");
  return {};
}

// ---- Doing and undoing ----

Result<void> Staging::Commit() {
  for (std::size_t i = 0; i < steps_.size(); ++i) TRY(Do(i));
  return {};
}

Result<void> Staging::Do(std::size_t number) {
  const Step& step = steps_[number];
  const std::string name = std::to_string(number);
  TRY_ASSIGN(const Slot slot, SlotOf(*root_, step.path));
  const char* const here = name.c_str();
  const char* const there = slot.name.c_str();
  const int staged = directory_.get();
  const int target = slot.directory.get();
  const int failed =
      step.kind == Kind::kTake     ? ::renameat2(target, there, staged, here, RENAME_NOREPLACE)
      : step.kind == Kind::kInsert ? ::renameat2(staged, here, target, there, RENAME_NOREPLACE)
                                   : ::renameat2(staged, here, target, there, RENAME_EXCHANGE);
  if (failed != 0) {
    if (errno == EEXIST) {
      return Unexpected(step.path, StatOf(slot.directory, slot.name),
                        "was created on the host during the run");
    }
    if (errno == ENOENT) return Conflict(step.path, "was removed on the host during the run");
    return Error::FromErrno(errno, "put " + step.path + " in place");
  }
  if (step.kind != Kind::kInsert) TRY(CheckTaken(number));
  if (step.kind == Kind::kTake) return {};
  const auto now = StatOf(slot.directory, slot.name);
  if (!now || now->st_ino != step.inode)
    return Conflict(step.path, "was changed by another process at the same time");
  versions_[step.change] = VersionOf(*now);
  return {};
}

// Checks that the removed file is the expected one.
Result<void> Staging::CheckTaken(std::size_t number) const {
  const Step& step = steps_[number];
  const std::string name = std::to_string(number);
  const auto taken = StatOf(directory_, name);
  if (!taken || !IsExpected(*taken, step.expected)) return Unexpected(step.path, taken);
  if (!S_ISDIR(taken->st_mode)) return {};
  bool empty = true;
  const UniqueFd directory = OpenBeneath(directory_, name, O_PATH | O_DIRECTORY);
  ForEachEntry(directory, [&](const std::string&) { empty = false; });
  if (!empty) {
    return Conflict(step.path,
                    "is not empty on the host (links and the like are not shown to runs)");
  }
  return {};
}

bool Staging::UndoAll() {
  bool all = true;
  for (std::size_t i = steps_.size(); i-- > 0;) all = Undo(i) && all;
  return all;
}

// Uses the state of the directory, not memory, so it can also undo the steps of a dead process.
bool Staging::Undo(std::size_t number) const {
  const Step& step = steps_[number];
  const std::string name = std::to_string(number);
  const auto staged = StatOf(directory_, name);
  const bool holds_the_hosts =
      staged &&
      (step.kind == Kind::kTake || (step.kind == Kind::kExchange && staged->st_ino != step.inode));
  const auto slot = SlotOf(*root_, step.path);
  if (!slot) return !holds_the_hosts;
  const auto target = StatOf(slot->directory, slot->name);
  const bool ours_is_there = target && target->st_ino == step.inode;
  const int here = directory_.get();
  const int there = slot->directory.get();
  if (step.kind == Kind::kInsert && !staged && ours_is_there) {
    (void)::renameat2(there, slot->name.c_str(), here, name.c_str(), RENAME_NOREPLACE);
  }
  if (!holds_the_hosts) return true;
  if (step.kind == Kind::kExchange && !ours_is_there) return false;
  const unsigned how = step.kind == Kind::kTake ? RENAME_NOREPLACE : RENAME_EXCHANGE;
  return ::renameat2(here, name.c_str(), there, slot->name.c_str(), how) == 0;
}

void Staging::Finish() {
  if (name_.empty()) return;
  (void)::unlinkat(directory_.get(), kManifest, 0);
  steps_.clear();
  Clear();
}

void Staging::Clear() {
  if (name_.empty()) return;
  ForEachEntry(directory_, [&](const std::string& entry) {
    if (::unlinkat(directory_.get(), entry.c_str(), 0) != 0) {
      (void)::unlinkat(directory_.get(), entry.c_str(), AT_REMOVEDIR);
    }
  });
  (void)::unlinkat(root_->get(), name_.c_str(), AT_REMOVEDIR);
  name_.clear();
}

Staging::Staging(Staging&& other) noexcept
    : root_(other.root_),
      name_(std::exchange(other.name_, {})),
      directory_(std::move(other.directory_)),
      steps_(std::move(other.steps_)),
      versions_(std::move(other.versions_)) {}

Staging::~Staging() {
  if (!name_.empty() && UndoAll()) Clear();
}

// ---- After a crash ----

Result<void> Staging::ReadManifest() {
  const Error damaged(ErrorCode::kInvalidArgument, "a manifest is damaged");
  const UniqueFd file = OpenBeneath(directory_, kManifest, O_RDONLY | O_NONBLOCK);
  if (!file.is_open()) return {};  // Nothing was changed yet, or the changes are final.
  struct ::stat stat{};
  if (::fstat(file.get(), &stat) != 0 || !S_ISREG(stat.st_mode) ||
      static_cast<std::size_t>(stat.st_size) > kMaxManifestBytes) {
    return damaged;
  }
  std::string text(static_cast<std::size_t>(stat.st_size), '\0');
  if (::pread(file.get(), text.data(), text.size(), 0) != stat.st_size) return damaged;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    Step step{.kind = Kind::kTake, .path = {}};
    if (line.size() < 4 || line[1] != ' ') return damaged;
    const auto number = std::from_chars(line.data() + 2, line.data() + line.size(), step.inode);
    if (number.ec != std::errc() || *number.ptr != ' ') return damaged;
    step.kind = static_cast<Kind>(line[0]);
    step.path = std::string(number.ptr + 1, line.data() + line.size());
    const bool known = std::string_view("TIX").find(line[0]) != std::string_view::npos;
    if (!known || step.path.empty() || !IsPlainPath(step.path) || IsOurs(step.path)) return damaged;
    steps_.push_back(std::move(step));
  }
  return {};
}

void Staging::Recover(const UniqueFd& root) {
  std::vector<std::string> left;
  ForEachEntry(root, [&](const std::string& name) {
    if (IsOurs(name)) left.push_back(name);
  });
  for (std::string& name : left) {
    Staging staging(root);
    staging.directory_ = OpenBeneath(root, name, O_RDONLY | O_DIRECTORY);
    // Locked: its process is alive.
    if (!staging.directory_.is_open() ||
        ::flock(staging.directory_.get(), LOCK_EX | LOCK_NB) != 0) {
      continue;
    }
    // A manifest that cannot be read is left for a person to look at: the directory may hold the
    // only copy of a file.
    if (!staging.ReadManifest()) continue;
    staging.name_ = std::move(name);  // The destructor undoes and removes it.
  }
}

}  // namespace caisson::workspace
