#include "checkpoint/checkpoint_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "base/run_on.h"
#include "checkpoint/sealed_checkpoints.h"
#include "wire/canonical_json.h"

namespace caisson {
namespace {

using Missing = CheckpointDirectory::Missing;

constexpr std::size_t kMaxIdBytes = 128;
constexpr std::size_t kNumberDigits = 10;
constexpr const char* kStamp = "owner";
constexpr std::string_view kStampBinding = "checkpoint owner 1";
constexpr std::string_view kDraftPrefix = ".new-";

// Accepts a single segment that means the same to every file system and shell: nothing is decoded,
// folded or stripped.
bool IsSafeSegment(std::string_view id) {
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !id.empty() && id.size() <= kMaxIdBytes && !id.starts_with('.') &&
         std::ranges::all_of(id, is_safe);
}

Error NotFound() {
  return Error(ErrorCode::kNotFound, "no such checkpoint");
}

Result<std::string> ReadFile(const UniqueFd& directory, const std::string& name) {
  const UniqueFd file(
      ::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return NotFound();
  if (!file.is_open()) return Error::FromErrno(errno, "open a checkpoint");
  std::string text;
  std::array<char, 1u << 16> piece{};
  for (;;) {
    const ssize_t n = ::read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::FromErrno(errno, "read a checkpoint");
    if (n == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
}

// The file appears under its name only when it is complete and durable. Fails with
// kFailedPrecondition if the name exists.
Result<void> CreateFile(const UniqueFd& directory, const std::string& name, std::string_view text) {
  const std::string draft = std::string(kDraftPrefix) + name;
  ::unlinkat(directory.get(), draft.c_str(),
             0);  // Left by a process that died; the lock excludes others.
  const UniqueFd file(::openat(directory.get(), draft.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return Error::FromErrno(errno, "create a checkpoint");
  while (!text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::FromErrno(errno, "write a checkpoint");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) != 0) return Error::FromErrno(errno, "sync a checkpoint");
  if (::renameat2(directory.get(), draft.c_str(), directory.get(), name.c_str(),
                  RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return Error(ErrorCode::kFailedPrecondition, "this name already exists");
    return Error::FromErrno(errno, "name a checkpoint");
  }
  if (::fsync(directory.get()) != 0) return Error::FromErrno(errno, "sync a directory");
  return {};
}

// Fails with kNotFound if it does not exist.
Result<UniqueFd> OpenDirectory(const UniqueFd& parent, const std::string& name, Missing missing) {
  if (missing == Missing::kCreate && ::mkdirat(parent.get(), name.c_str(), 0700) == 0) {
    if (::fsync(parent.get()) != 0) return Error::FromErrno(errno, "sync a directory");
  }
  UniqueFd directory(
      ::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.is_open()) return directory;
  if (errno == ENOENT) return NotFound();
  return Error::FromErrno(errno, "open a directory of checkpoints");
}

Result<std::vector<std::string>> Names(const UniqueFd& directory) {
  // A separate descriptor, because reading moves its position.
  const int copy = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy < 0 ? nullptr : ::fdopendir(copy),
                                                   &::closedir);
  if (stream == nullptr) return Error::FromErrno(errno, "list checkpoints");
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {  // NOLINT: a stream of our own.
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !name.starts_with(kDraftPrefix)) names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// The parsed name of a checkpoint's file.
struct Entry {
  std::uint64_t number = 0;
  CheckpointId id;
  std::string name{};
};

std::string NameOf(std::uint64_t number, const CheckpointId& id) {
  std::string digits = std::to_string(number);
  digits.insert(0, kNumberDigits - std::min(digits.size(), kNumberDigits), '0');
  return digits + "-" + id.str();
}

std::optional<Entry> ParseName(const std::string& name) {
  if (name.size() <= kNumberDigits || name[kNumberDigits] != '-') return std::nullopt;
  Entry entry{.id = CheckpointId(name.substr(kNumberDigits + 1)), .name = name};
  const char* const end = name.data() + kNumberDigits;
  const auto parsed = std::from_chars(name.data(), end, entry.number);
  if (parsed.ec != std::errc() || parsed.ptr != end || !IsSafeSegment(entry.id.str())) {
    return std::nullopt;
  }
  return entry;
}

void AppendNumber(std::uint64_t number, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(number >> shift));
}

std::uint64_t TakeNumber(std::string_view& text) {
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;) number = number << 8 | static_cast<std::uint8_t>(text[i]);
  text.remove_prefix(8);
  return number;
}

}  // namespace

std::string_view ToString(CheckpointDirectory::Refusal refusal) {
  return refusal == CheckpointDirectory::Refusal::kIdentityMissing ? "identity_missing"
                                                                   : "identity_mismatch";
}

class CheckpointDirectory::Instance {
 public:
  Instance(UniqueFd directory, const KeyRing& keys, const IsolationKey& owner, const InstanceId& id)
      : directory_(std::move(directory)), keys_(&keys), owner_(owner), id_(id) {}

  // Held as long as the directory is open.
  Result<void> Lock() const {
    while (::flock(directory_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return Error::FromErrno(errno, "lock a directory of checkpoints");
    }
    return {};
  }

  // Returns nullopt if the directory belongs to this owner.
  Result<std::optional<Refusal>> CheckStamp() const {
    const auto sealed = ReadFile(directory_, kStamp);
    if (!sealed && sealed.error().code() != ErrorCode::kNotFound) return sealed.error();
    if (!sealed) return std::optional(Refusal::kIdentityMissing);
    const auto stamp = keys_->Open(KeyPurpose::kCheckpoint, kStampBinding, *sealed);
    if (!stamp) return std::optional(Refusal::kIdentityMissing);
    TRY_ASSIGN(const std::string ours, StampText());
    if (*stamp != ours) return std::optional(Refusal::kIdentityMismatch);
    return std::optional<Refusal>();
  }

  Result<void> Stamp() const {
    TRY_ASSIGN(const std::string text, StampText());
    TRY_ASSIGN(const std::string sealed, keys_->Seal(KeyPurpose::kCheckpoint, kStampBinding, text));
    return CreateFile(directory_, kStamp, sealed);
  }

  Result<bool> IsEmpty() const {
    TRY_ASSIGN(const auto names, Names(directory_));
    return names.empty();
  }

  // Sorted by number.
  Result<std::vector<Entry>> Entries() const {
    TRY_ASSIGN(const auto names, Names(directory_));
    std::vector<Entry> entries;
    for (const std::string& name : names) {
      if (auto entry = ParseName(name)) entries.push_back(*std::move(entry));
    }
    return entries;
  }

  // Seals its number and time with it, so that a renamed file is refused.
  Result<void> Write(std::uint64_t number, const Checkpoint& checkpoint) const {
    Checkpoint with_place{.id = checkpoint.id};
    AppendNumber(number, with_place.bytes);
    const auto time = std::chrono::duration_cast<std::chrono::microseconds>(
        checkpoint.created_at.time_since_epoch());
    AppendNumber(static_cast<std::uint64_t>(time.count()), with_place.bytes);
    with_place.bytes += checkpoint.bytes;
    TRY_ASSIGN(const std::string sealed, SealCheckpoint(*keys_, owner_, id_, with_place));
    return CreateFile(directory_, NameOf(number, checkpoint.id), sealed);
  }

  Result<Checkpoint> Read(const Entry& entry) const {
    TRY_ASSIGN(const std::string sealed, ReadFile(directory_, entry.name));
    TRY_ASSIGN(const std::string opened, OpenCheckpoint(*keys_, owner_, id_, entry.id, sealed));
    std::string_view rest = opened;
    if (rest.size() < 16 || TakeNumber(rest) != entry.number) {
      return Error(ErrorCode::kFailedPrecondition, "the checkpoint cannot be used: it was moved");
    }
    const std::chrono::microseconds time(static_cast<std::int64_t>(TakeNumber(rest)));
    return Checkpoint{.id = entry.id, .bytes = std::string(rest), .created_at = SystemTime(time)};
  }

  Result<void> Remove(const Entry& entry) const {
    if (::unlinkat(directory_.get(), entry.name.c_str(), 0) == 0) return {};
    return Error::FromErrno(errno, "remove a checkpoint");
  }

 private:
  Result<std::string> StampText() const {
    return CanonicalJson(caisson::List{{Value(owner_.str()), Value(id_.str())}});
  }

  UniqueFd directory_;
  const KeyRing* keys_;
  IsolationKey owner_;
  InstanceId id_;
};

Result<std::unique_ptr<CheckpointDirectory>> CheckpointDirectory::Open(Options options,
                                                                       const KeyRing& keys) {
  if (::mkdir(options.root.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::FromErrno(errno, "create " + options.root);
  }
  UniqueFd root(::open(options.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) return Error::FromErrno(errno, "open " + options.root);
  return std::unique_ptr<CheckpointDirectory>(
      new CheckpointDirectory(std::move(options), std::move(root), keys));
}

Result<CheckpointDirectory::Instance> CheckpointDirectory::Enter(const IsolationKey& owner,
                                                                 const InstanceId& instance,
                                                                 Missing missing) const {
  if (!IsSafeSegment(instance.str()) || !IsSafeSegment(owner.str())) return NotFound();
  const bool create = missing == Missing::kCreate;
  TRY_ASSIGN(const UniqueFd of_owner, OpenDirectory(root_, owner.str(), missing));
  TRY_ASSIGN(UniqueFd directory, OpenDirectory(of_owner, instance.str(), missing));
  Instance entered(std::move(directory), keys_, owner, instance);
  TRY(entered.Lock());
  TRY_ASSIGN(const std::optional<Refusal> refusal, entered.CheckStamp());
  if (!refusal) return entered;
  TRY_ASSIGN(const bool empty, entered.IsEmpty());
  if (empty && !create) return NotFound();
  if (empty) {
    TRY(entered.Stamp());
    return entered;
  }
  if (options_.on_refusal) options_.on_refusal(*refusal, owner, instance);
  return NotFound();
}

asio::awaitable<Result<void>> CheckpointDirectory::Append(IsolationKey owner, InstanceId instance,
                                                          std::optional<CheckpointId> expected,
                                                          Checkpoint checkpoint) {
  return CallOn(options_.pool, [=, this]() -> Result<void> {
    if (!IsSafeSegment(instance.str()) || !IsSafeSegment(checkpoint.id.str())) {
      return Error(
          ErrorCode::kInvalidArgument,
          "ids of checkpoints have up to 128 letters, digits, \"-\", \"_\" or \".\", and do "
          "not start with \".\"");
    }
    const Error other(ErrorCode::kFailedPrecondition, "another checkpoint is the head");
    auto entered = Enter(owner, instance, expected ? Missing::kRefuse : Missing::kCreate);
    if (!entered && expected && entered.error().code() == ErrorCode::kNotFound) return other;
    if (!entered) return std::move(entered).error();
    TRY_ASSIGN(const std::vector<Entry> entries, entered->Entries());
    const auto head = entries.empty() ? std::nullopt : std::optional(entries.back().id);
    if (head != expected) return other;
    if (std::ranges::find(entries, checkpoint.id, &Entry::id) != entries.end()) {
      return Error(ErrorCode::kFailedPrecondition, "a checkpoint with this id already exists");
    }
    return entered->Write(entries.empty() ? 1 : entries.back().number + 1, checkpoint);
  });
}

asio::awaitable<Result<Checkpoint>> CheckpointDirectory::Head(IsolationKey owner,
                                                              InstanceId instance) {
  return CallOn(options_.pool, [=, this]() -> Result<Checkpoint> {
    TRY_ASSIGN(const Instance entered, Enter(owner, instance, Missing::kRefuse));
    TRY_ASSIGN(const std::vector<Entry> entries, entered.Entries());
    if (entries.empty()) return NotFound();
    return entered.Read(entries.back());
  });
}

asio::awaitable<Result<Checkpoint>> CheckpointDirectory::Find(IsolationKey owner,
                                                              InstanceId instance,
                                                              CheckpointId id) {
  return CallOn(options_.pool, [=, this]() -> Result<Checkpoint> {
    TRY_ASSIGN(const Instance entered, Enter(owner, instance, Missing::kRefuse));
    TRY_ASSIGN(const std::vector<Entry> entries, entered.Entries());
    const auto entry = std::ranges::find(entries, id, &Entry::id);
    if (entry == entries.end()) return NotFound();
    return entered.Read(*entry);
  });
}

asio::awaitable<Result<std::vector<CheckpointId>>> CheckpointDirectory::List(IsolationKey owner,
                                                                             InstanceId instance) {
  using Ids = std::vector<CheckpointId>;
  return CallOn(options_.pool, [=, this]() -> Result<Ids> {
    auto entered = Enter(owner, instance, Missing::kRefuse);
    if (!entered && entered.error().code() == ErrorCode::kNotFound) return Ids();
    if (!entered) return std::move(entered).error();
    TRY_ASSIGN(const std::vector<Entry> entries, entered->Entries());
    Ids ids;
    for (const Entry& entry : entries) ids.push_back(entry.id);
    return ids;
  });
}

asio::awaitable<Result<void>> CheckpointDirectory::Prune(IsolationKey owner, InstanceId instance,
                                                         std::uint32_t keep) {
  return CallOn(options_.pool, [=, this]() -> Result<void> {
    auto entered = Enter(owner, instance, Missing::kRefuse);
    if (!entered && entered.error().code() == ErrorCode::kNotFound) return {};
    if (!entered) return std::move(entered).error();
    TRY_ASSIGN(std::vector<Entry> entries, entered->Entries());
    const std::size_t kept = std::min<std::size_t>(std::max(keep, 1U), entries.size());
    entries.resize(entries.size() - kept, Entry{.id = CheckpointId("")});
    for (const Entry& entry : entries) TRY(entered->Remove(entry));
    return {};
  });
}

}  // namespace caisson
