#include "approval/key_ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <ranges>

#include "base/sha256.h"
#include "base/unique_fd.h"

namespace caisson {
namespace {

constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kMaxFileBytes = 64u << 10;

std::string_view PurposeName(KeyPurpose purpose) {
  switch (purpose) {
    case KeyPurpose::kCell:
      return "caisson cell 1";
    case KeyPurpose::kCheckpoint:
      return "caisson checkpoint 1";
    case KeyPurpose::kRequestState:
      return "caisson request-state 1";
  }
  return "";
}

std::string IdOf(const AeadKey& secret) {
  const AeadKey derived = secret.DerivedFor("caisson key id 1");
  return {derived.bytes().begin(), derived.bytes().begin() + kIdBytes};
}

std::string LineOf(const AeadKey& secret) {
  Sha256Digest bytes{};  // Has the same size as a key, and ToHex accepts it.
  std::ranges::copy(secret.bytes(), bytes.begin());
  return ToHex(bytes) + "\n";
}

Result<std::string> ReadAll(const UniqueFd& file, const std::string& path) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t n = ::read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::FromErrno(errno, "read " + path);
    if (n == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(n));
    if (text.size() > kMaxFileBytes) {
      return Error(ErrorCode::kInvalidArgument, path + " is too large for a file of keys");
    }
  }
}

Result<void> CheckPrivate(const UniqueFd& file, const std::string& path) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return Error::FromErrno(errno, "fstat " + path);
  const bool ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  // Group read is allowed, because containers mount secrets that way.
  if (S_ISREG(status.st_mode) && ours && (status.st_mode & 0027) == 0) return {};
  return Error(ErrorCode::kFailedPrecondition,
               path + " contains keys that other users can read or change; run chmod 600 on it");
}

Result<void> WriteDurably(const UniqueFd& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::FromErrno(errno, "write");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) != 0) return Error::FromErrno(errno, "fsync");
  return {};
}

Result<void> SyncDirectory(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const UniqueFd directory(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(directory.get()) != 0) {
    return Error::FromErrno(errno, "fsync the directory of " + path);
  }
  return {};
}

// The file is complete when it appears under its name, so no process loads half a file. A second
// creator leaves it unchanged.
Result<void> CreateOnce(const std::string& path) {
  std::string draft = path + ".XXXXXX";
  // Creates it exclusively, with mode 0600.
  const UniqueFd file(::mkostemp(draft.data(), O_CLOEXEC));
  if (!file.is_open()) return Error::FromErrno(errno, "create " + path);
  Result<void> made = WriteDurably(file, LineOf(AeadKey::Random()));
  if (made && ::link(draft.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    made = Error::FromErrno(errno, "link " + path);
  }
  ::unlink(draft.c_str());
  if (!made) return made;
  return SyncDirectory(path);
}

}  // namespace

KeyRing::KeyRing(std::span<const AeadKey> oldest_first) {
  for (const AeadKey& secret : oldest_first) keys_.push_back({IdOf(secret), secret});
}

KeyRing KeyRing::Generate() {
  return KeyRing({{AeadKey::Random()}});
}

Result<KeyRing> KeyRing::Parse(std::string_view text) {
  const auto refuse = [](std::size_t line, std::string_view why) {
    return Error(ErrorCode::kInvalidArgument,
                 "keys, line " + std::to_string(line) + ": " + std::string(why));
  };
  std::vector<AeadKey> secrets;
  std::size_t number = 0;
  for (const auto& each : std::views::split(text, '\n')) {
    ++number;
    std::string_view line(each.begin(), each.end());
    line = line.substr(0, line.find('#'));
    for (;;) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t\r,"), line.size()));
      if (line.empty()) break;
      const std::string_view word = line.substr(0, line.find_first_of(" \t\r,"));
      line.remove_prefix(word.size());
      const std::optional<Sha256Digest> bytes = Sha256FromHex(word);
      // The word is not shown: it is a secret even if one digit is wrong.
      if (!bytes) return refuse(number, "a key is 64 hexadecimal digits");
      secrets.emplace_back(*bytes);
    }
  }
  if (secrets.empty()) return Error(ErrorCode::kInvalidArgument, "there is no key");
  KeyRing ring(secrets);
  for (const Key& key : ring.keys_) {
    if (std::ranges::count(ring.keys_, key.id, &Key::id) > 1) {
      return Error(ErrorCode::kInvalidArgument, "a key occurs twice");
    }
  }
  return ring;
}

Result<KeyRing> KeyRing::Load(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open() && errno == ENOENT) {
    return Error(ErrorCode::kNotFound, "there are no keys at " + path +
                                           "; create a file that only its owner can read: " +
                                           "(umask 077; openssl rand -hex 32 > FILE)");
  }
  if (!file.is_open()) return Error::FromErrno(errno, "open the keys in " + path);
  TRY(CheckPrivate(file, path));
  TRY_ASSIGN(const std::string text, ReadAll(file, path));
  auto ring = Parse(text);
  if (!ring) return std::move(ring).error().Context(path);
  return ring;
}

Result<KeyRing> KeyRing::LoadOrCreate(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) TRY(CreateOnce(path));
  return Load(path);
}

Result<std::string> KeyRing::Seal(KeyPurpose purpose, std::string_view bound_to,
                                  std::string_view text) const {
  const AeadKey key = newest().secret.DerivedFor(PurposeName(purpose));
  TRY_ASSIGN(const std::string sealed, AeadSeal(key, bound_to, text));
  return newest().id + sealed;
}

Result<std::pair<const KeyRing::Key*, std::string_view>> KeyRing::Find(
    std::string_view sealed) const {
  const auto key = std::ranges::find(keys_, sealed.substr(0, kIdBytes), &Key::id);
  if (key == keys_.end()) {
    return Error(ErrorCode::kFailedPrecondition, "sealed with a key that is not on the key ring");
  }
  return std::pair(&*key, sealed.substr(kIdBytes));
}

Result<std::string> KeyRing::Open(KeyPurpose purpose, std::string_view bound_to,
                                  std::string_view sealed) const {
  TRY_ASSIGN(const auto found, Find(sealed));
  const auto [key, rest] = found;
  return AeadOpen(key->secret.DerivedFor(PurposeName(purpose)), bound_to, rest);
}

Result<std::string> KeyRing::SealCell(const SealBinding& binding, const SavedCell& cell) const {
  const SealKey key = newest().secret.DerivedFor(PurposeName(KeyPurpose::kCell));
  TRY_ASSIGN(const std::string sealed, ::caisson::Seal(key, binding, cell));
  return newest().id + sealed;
}

Result<SavedCell> KeyRing::OpenCell(const SealBinding& binding, std::string_view sealed) const {
  TRY_ASSIGN(const auto found, Find(sealed));
  const auto [key, rest] = found;
  return Unseal(key->secret.DerivedFor(PurposeName(KeyPurpose::kCell)), binding, rest);
}

std::vector<std::string> KeyRing::Ids() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<std::string> ids;
  for (const Key& key : std::views::reverse(keys_)) {
    std::string& id = ids.emplace_back();
    for (const char c : key.id) {
      const auto byte = static_cast<std::uint8_t>(c);
      id += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return ids;
}

}  // namespace caisson
